"""A batch system of local processes, and its launcher: all that a launcher for another queue has to implement."""

import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from aswd.launchers.job import Job
from aswd.launchers.queue import CANCELLED, GONE, JobState, QueueConfig, QueueLauncher

ROOT = Path(__file__).parents[2]
EXECUTE = "import pickle, sys; pickle.load(open(sys.argv[1], 'rb'))()"


class ProcessSystem:
    """The queue: jobs are processes that start at once."""

    def __init__(self):
        self.processes = {}
        self.cancelled = set()
        self.program = EXECUTE  # of every job that is submitted
        self.outages = 0  # polls that get no response

    def submit(self, file):
        job = str(len(self.processes) + 1)
        self.processes[job] = subprocess.Popen([sys.executable, "-c", self.program, file], cwd=ROOT)
        return job

    def cancel(self, job):
        self.cancelled.add(job)
        self.end(job)

    def end(self, job):
        self.processes[job].kill()
        self.processes[job].wait()

    def state(self, job):
        if job not in self.processes:
            return GONE
        if job in self.cancelled:
            return CANCELLED
        code = self.processes[job].poll()
        return JobState("RUNNING", False) if code is None else JobState("FAILED" if code else "COMPLETED", True)


SYSTEM = ProcessSystem()


@dataclass
class ProcessQueueConfig(QueueConfig):
    name: str = "processes"
    poll_seconds: float = 0.1


class ProcessQueueLauncher(QueueLauncher):
    system = "the process queue"

    def submit(self, jobs):
        ids = []
        for number, runs in enumerate(jobs):
            file = self.record.log(f"{len(SYSTEM.processes)}-{number}.pickle")
            file.write_bytes(pickle.dumps(Job(runs, self.config.requeues)))
            ids.append(SYSTEM.submit(file))
        return ids

    @staticmethod
    def poll(jobs):
        if SYSTEM.outages:
            SYSTEM.outages -= 1
            return None
        return {job: SYSTEM.state(job) for job in jobs}

    @staticmethod
    def cancel_command(jobs):
        return f"kill {' '.join(jobs)}"
