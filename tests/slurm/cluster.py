"""A SLURM cluster of one node, this machine, on the loopback interface only: real daemons, all stopped and removed afterwards."""

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

PACKAGES = ["slurm-wlm", "munge"]
_NO_DAEMONS = Path("/usr/sbin/policy-rc.d")  # Debian runs it before it starts the daemon of a newly installed package


def obstacle():
    """Why no cluster can be started here; ``None`` where it can."""
    if os.geteuid() != 0:
        return "SLURM's daemons have to be started by root, and this is not root"
    if all(shutil.which(name) for name in ("slurmctld", "slurmd", "munged", "sbatch")):
        return None
    if shutil.which("apt-get") is None:
        return "SLURM is not installed, and there is no apt-get to install it with"
    return _install()


def _install():
    """Install Debian's packages without letting their daemons start, which would listen on all interfaces."""
    ours = not _NO_DAEMONS.exists()
    if ours:
        _NO_DAEMONS.write_text("#!/bin/sh\nexit 101\n")
        _NO_DAEMONS.chmod(0o755)
    complaint = f"apt-get cannot install {' and '.join(PACKAGES)}"
    try:
        for command in (["update"], ["install", "-y", "--no-install-recommends", *PACKAGES]):
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            done = subprocess.run(["apt-get", "-qq", *command], capture_output=True, text=True, env=environment, timeout=180)
        return None if done.returncode == 0 else ": ".join([complaint, *done.stderr.strip().splitlines()[-1:]])
    except subprocess.TimeoutExpired:
        return f"{complaint}: it took more than three minutes"
    finally:
        if ours:
            _NO_DAEMONS.unlink()


class DoesNotStart(RuntimeError):
    """SLURM is installed, but its daemons do not start on this machine."""


class Cluster:
    """A context in which the cluster runs; all its processes and files are removed at the end."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.daemons = {}

    def __enter__(self):
        for name in ("state", "spool", "log"):
            (self.folder / name).mkdir(parents=True)
        os.environ["SLURM_CONF"] = str(self._configuration())
        try:
            self._start_munge()
            self.start_controller(fresh=True)
            self._start("slurmd", "-D", "-N", "node")
            self._wait_for(lambda: "idle" in self.ask("sinfo", "--noheader", "--format=%T"), "the node is not idle")
        except BaseException as error:  # __exit__ is not called then
            self.__exit__()
            raise DoesNotStart(error) if isinstance(error, RuntimeError) else error from None
        return self

    def __exit__(self, *_):
        self.ask("scancel", "--user=root")
        end = time.monotonic() + 30
        while self.ask("squeue", "--noheader").strip() and time.monotonic() < end:
            time.sleep(0.5)
        for daemon in reversed(self.daemons.values()):
            daemon.terminate()
        for daemon in self.daemons.values():
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for number in self._descendants():
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        os.environ.pop("SLURM_CONF", None)

    def _descendants(self):
        """Processes that were started with this cluster's configuration: none, unless something went wrong."""
        mark = f"SLURM_CONF={self.folder}/slurm.conf\0".encode()
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if mark in path.read_bytes() and int(path.parent.name) != os.getpid():
                    yield int(path.parent.name)

    def ask(self, *command):
        """The output of a command of SLURM; empty where it fails."""
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=30).stdout
        except subprocess.TimeoutExpired:
            return ""

    def start_controller(self, fresh=False):
        """Start slurmctld; unless ``fresh``, it restores its jobs."""
        self._start("slurmctld", "-D", *(["-c"] if fresh else []))
        self._wait_for(lambda: "UP" in self.ask("scontrol", "ping"), "slurmctld does not respond")
        self.ask("scontrol", "update", "PartitionName=short", "State=UP")

    def kill_controller(self, job):
        """Kill slurmctld, as a crash would, after it has saved its state; ``job`` gets its time limit back.

        Saving takes some seconds, during which no job may start: slurmctld would start a job that it does not remember a second time, and
        then drain the node, the only one here.
        """
        self.ask("scontrol", "update", "PartitionName=short", "State=DOWN")
        changed = time.time()
        self.ask("scontrol", "update", f"JobId={job}", "TimeLimit=20")
        self._wait_for(lambda: self._saved() > changed, "slurmctld does not save its state")
        daemon = self.daemons.pop("slurmctld")
        daemon.kill()
        daemon.wait()

    def _saved(self):
        try:
            return (self.folder / "state" / "job_state").stat().st_mtime
        except FileNotFoundError:  # it is being replaced
            return 0.0

    def job(self, number):
        """The fields of a job."""
        text = self.ask("scontrol", "--oneliner", "show", "job", number)
        return dict(re.findall(r"(\S+?)=(\S*)", text))

    def foreign_sockets(self):
        """Addresses other than the loopback that our daemons listen on."""
        ours = {
            os.readlink(link) for daemon in self.daemons.values() for link in Path(f"/proc/{daemon.pid}/fd").iterdir() if link.is_symlink()
        }
        foreign = []
        for line in [*Path("/proc/net/tcp").read_text().splitlines()[1:], *_lines("/proc/net/tcp6")]:
            fields = line.split()
            address, inode = fields[1].partition(":")[0], fields[9]
            if fields[3] == "0A" and f"socket:[{inode}]" in ours and address != "0100007F":
                foreign.append(line)
        return foreign

    def _start(self, name, *arguments, **options):
        log = (self.folder / "log" / f"{name}.log").open("ab")
        self.daemons[name] = subprocess.Popen([shutil.which(name), *arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL, **options)

    def _start_munge(self):
        munge = self.folder / "munge"
        munge.mkdir(mode=0o755)
        (munge / "key").write_bytes(secrets.token_bytes(128))
        (munge / "key").chmod(0o600)
        files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        self._start("munged", "--foreground", "--force", *(f"--{option}={munge / name}" for option, name in files.items()))
        self._wait_for((munge / "socket").exists, "munged does not start")

    def _configuration(self):
        hostname = socket.gethostname()
        controller, node = _free_ports(2)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 - 512
        lines = [
            "ClusterName=aswd",
            f"SlurmctldHost={hostname}(127.0.0.1)",
            "SlurmUser=root",
            "SlurmdUser=root",
            "AuthType=auth/munge",
            "CredType=cred/munge",
            f"AuthInfo=socket={self.folder}/munge/socket,cred_expire=20",  # as long as a job waits that went back into the queue
            f"SlurmctldPort={controller}",
            f"SlurmdPort={node}",
            "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "JobAcctGatherType=jobacct_gather/none",
            "AccountingStorageType=accounting_storage/none",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core",
            "ReturnToService=2",
            "MailProg=/bin/true",
            f"StateSaveLocation={self.folder}/state",
            f"SlurmdSpoolDir={self.folder}/spool",
            f"SlurmctldPidFile={self.folder}/slurmctld.pid",
            f"SlurmdPidFile={self.folder}/slurmd.pid",
            f"NodeName=node NodeHostname={hostname} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} RealMemory={memory}",
            "PartitionName=short Nodes=node Default=YES MaxTime=INFINITE State=UP",
        ]
        path = self.folder / "slurm.conf"
        path.write_text("\n".join(lines) + "\n")
        return path

    def _wait_for(self, is_so, complaint):
        end = time.monotonic() + 60
        while not is_so():
            if time.monotonic() > end or any(daemon.poll() is not None for daemon in self.daemons.values()):
                logs = "\n".join(path.read_text()[-2000:] for path in self.folder.glob("log/*.log"))
                raise RuntimeError(f"{complaint}:\n{logs}")
            time.sleep(0.2)


def _free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _lines(path):
    return Path(path).read_text().splitlines()[1:] if Path(path).exists() else []
