"""Tables of the leaderboard."""

from __future__ import annotations

from collections.abc import Sequence

import pandas

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
