"""Tables of the leaderboard."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas

from aswd.artifacts.claims import Verdict
from aswd.artifacts.tables import COLUMNS
from aswd.leaderboard.planning import Choice, Plan
from aswd.leaderboard.ranking import Costs, Ranks, Results


def rank_table(ranks: Ranks, results: Sequence[Results]) -> pandas.DataFrame:
    """Ranks as tables of artifacts have them: one row per discipline and method."""
    seeds = {each.discipline.name: each.seeds for each in results}
    rows = []
    for name in ["overall", *seeds]:
        for method in ranks.order():
            if method in ranks.table[name]:
                value, error, low, high = ranks.table[name][method]
                n = seeds.get(name, max(seeds.values()))
                rows.append(
                    {"data": name, "label": method, "metric": "rank", "n": n, "of": n, "failed": 0, "damaged": 0}
                    | {"mean": value, "standard_error": error, "low": low, "high": high}
                )
    return pandas.DataFrame(rows).reindex(columns=[*COLUMNS, "difference"])


def method_table(ranks: Ranks, results: Sequence[Results], costs: Costs, choices: list[dict[str, Choice]]) -> pandas.DataFrame:
    """One row per discipline and method: rank and interval, the chosen options, share of stuck runs, cost of a step."""
    rows = []
    for each, chosen in zip(results, choices, strict=True):
        name = each.discipline.name
        for method in ranks.order(name):
            value, _, low, high = ranks.table[name][method]
            cost = costs.get((name, method), {})
            rows.append(
                {"task": name, "method": method, "rank": value, "low": low, "high": high, "options": str(chosen[method].point)}
                | {"stuck": each.stuck(method), "seconds": cost.get("seconds"), "sorts": cost.get("sorts"), "machine": cost.get("machine")}
            )
    return pandas.DataFrame(rows)


def setting_table(results: Sequence[Results], plans: Sequence[Plan]) -> pandas.DataFrame:
    """One row per setting and method: median and quartiles of the final metric, or why there is none."""
    rows = []
    for each, made in zip(results, plans, strict=True):
        name = each.discipline.name
        for (setting, method), (_, values) in each.curves.items():
            low, middle, high = (float(part) for part in pandas.Series(values[-1]).quantile([0.25, 0.5, 0.75], interpolation="nearest"))
            rows.append({"task": name, "setting": setting, "method": method, "median": middle, "quartile_1": low, "quartile_3": high})
        rows += [{"task": name, "setting": s, "method": m, "left_out": reason} for (m, s), reason in made.left_out.items()]
    return pandas.DataFrame(rows)


def tuning_table(plans: Sequence[Plan], choices: list[dict[str, Choice]]) -> pandas.DataFrame:
    """One row per point of every grid: its score, the mean over the settings of log10 of the median metric, and which was chosen."""
    rows = [
        {"task": made.discipline.name, "method": method, "options": str(point), "score": score, "chosen": point == choice.point}
        for made, chosen in zip(plans, choices, strict=True)
        for method, choice in chosen.items()
        for point, score in choice.scores.items()
        if len(choice.scores) > 1
    ]
    return pandas.DataFrame(rows)


def final_table(results: Sequence[Results]) -> pandas.DataFrame:
    """One row per setting and method, with the final metric of every seed."""
    rows = [
        {"task": each.discipline.name, "setting": setting, "method": method}
        | {f"seed {seed}": value for seed, value in enumerate(values[-1])}
        for each in results
        for (setting, method), (_, values) in each.curves.items()
    ]
    return pandas.DataFrame(rows)


def curve_table(each: Results) -> pandas.DataFrame:
    """The median of the metric at every evaluation."""
    parts = [
        pandas.DataFrame(
            {
                "data": f"{each.discipline.name}: {setting}",
                "label": method,
                "step": steps,
                "median": pandas.DataFrame(values).median(axis=1),
            }
        )
        for (setting, method), (steps, values) in each.curves.items()
    ]
    return pandas.concat(parts, ignore_index=True)


def overview(ranks: Ranks, results: Sequence[Results], costs: Costs, choices: list[dict[str, Choice]], verdicts: Sequence[Verdict]) -> str:
    """Ranks, final values, tuned options and verdicts in Markdown.

    A value is the geometric mean over the settings of the median over the seeds; a step is in seconds of ``swd``'s, the geometric mean over
    the disciplines.
    """
    names = [each.discipline.name for each in results]
    order = list(dict.fromkeys([*ranks.order(), *(method for each in results for method in each.methods)]))

    def rank_of(name: str, method: str) -> str:
        found = ranks.table[name].get(method)
        return "-" if found is None else f"{found[0]:.1f} [{found[2]:.1f}, {found[3]:.1f}]"

    def value_of(each: Results, method: str) -> str:
        finals = [values[-1] for values in each.medians(method).values()]
        return f"{np.exp(np.mean(np.log(finals))):.2g}" if len(finals) == len(each.settings) and min(finals) > 0 else "-"

    def cost_of(method: str) -> str:
        pairs = [[costs.get((name, m), {}).get("seconds") for m in (method, "swd")] for name in names]
        known = [np.log(mine / swd) for mine, swd in pairs if mine and swd]
        return f"{np.exp(np.mean(known)):.1f}" if known else "-"

    def stuck_of(method: str) -> str:
        shares = [share for each in results if each.discipline.is_ranked and not np.isnan(share := each.stuck(method))]
        return f"{np.mean(shares):.0%}" if shares else "-"

    def options_of(chosen: dict[str, Choice], method: str) -> str:
        return str(chosen[method].point) if method in chosen else "-"

    ranked = ["overall", *names]
    parts = {
        "Ranks, with 95 % intervals": (
            ["method", *ranked, "stuck", "step"],
            [[f"`{m}`", *(rank_of(name, m) for name in ranked), stuck_of(m), cost_of(m)] for m in order],
        ),
        "Final values": (["method", *names], [[f"`{m}`", *(value_of(each, m) for each in results)] for m in order]),
        "Tuned options": (
            ["method", *names],
            [[f"`{m}`", *(options_of(chosen, m) for chosen in choices)] for m in order],
        ),
        "Published advantages": (
            ["claim", "", "verdict", "numbers"],
            [[each.claim, each.text, each.verdict, each.numbers] for each in verdicts],
        ),
    }
    return "\n".join(f"## {title}\n\n{_markdown(header, rows)}\n" for title, (header, rows) in parts.items())


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))
