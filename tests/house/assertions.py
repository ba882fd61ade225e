"""Find tests that could pass without checking anything.

`python -m tests.house.assertions` prints them. An assertion counts only where it certainly runs: outside of branches,
and in a loop only if the loop certainly runs, that is over a literal with elements, `range` of a positive constant, or
a constant of a module. `pytest.raises`, `pytest.warns` and `pytest.fail` are assertions, and so is a call of a
function under tests/ that certainly asserts, or of anything whose name begins with `assert`, `expect` or `check`.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMED_FOR_IT = ("assert", "django_assert", "expect", "check")
OF_PYTEST = {"raises", "warns", "fail", "deprecated_call"}
WRAPPERS = {"enumerate", "zip", "sorted", "list", "tuple", "set", "reversed", "product", "permutations", "pairwise"}
VIEWS = {"items", "values", "keys"}
OF_CLASSES = {"choices", "values", "labels", "names", "__all__"}
Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(frozen=True)
class Module:
    """What a module under tests/ defines."""

    tree: ast.Module
    functions: dict[str, Function]
    methods: dict[str, list[Function]]
    constants: dict[str, ast.expr]
    imports: dict[str, tuple[str, str]]  # name here -> (module, name there)


@dataclass(frozen=True)
class Scope:
    """The names that a statement can see: its module's, and those of the functions around it."""

    module: Module
    functions: dict[str, Function] = field(default_factory=dict)
    values: dict[str, ast.expr] = field(default_factory=dict)

    def within(self, function: Function) -> "Scope":
        nested = {one.name: one for one in statements(function) if isinstance(one, Function)}
        return Scope(self.module, {**self.functions, **nested}, {**self.values, **_assigned(function.body)})


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements in a module or a statement at every depth. Expressions hold none."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for one in getattr(node, name, ()):
            if isinstance(one, ast.stmt):
                yield one
            yield from statements(one)


def _assigned(body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """Name -> value of each name that is assigned at this level, once."""
    found: dict[str, ast.expr] = {}
    for one in body:
        target = one.targets[0] if isinstance(one, ast.Assign) else getattr(one, "target", None)
        if isinstance(one, ast.Assign | ast.AnnAssign) and isinstance(target, ast.Name) and one.value:
            found[target.id] = one.value
    return found


@cache
def module_of(path: Path) -> Module:
    tree = ast.parse(path.read_text())
    methods: dict[str, list[Function]] = {}
    imports: dict[str, tuple[str, str]] = {}
    for one in statements(tree):
        if isinstance(one, ast.ClassDef):
            for method in one.body:
                if isinstance(method, Function):
                    methods.setdefault(method.name, []).append(method)
        elif isinstance(one, ast.ImportFrom) and (one.module or "").startswith("tests"):
            imports |= {each.asname or each.name: (one.module or "", each.name) for each in one.names}
    functions = {one.name: one for one in tree.body if isinstance(one, Function)}
    return Module(tree, functions, methods, _assigned(tree.body), imports)


def _imported(name: str) -> Module | None:
    return _module_below(ROOT, name)


@cache
def _module_below(root: Path, name: str) -> Module | None:
    path = root.joinpath(*name.split("."))
    found = [one for one in (path.with_suffix(".py"), path / "__init__.py") if one.exists()]
    return module_of(found[0]) if found else None


_known: dict[Function, bool] = {}  # one that is being looked at does not assert by calling itself


def asserts(function: Function, scope: Scope) -> bool:
    """Return whether a call of the function certainly asserts something."""
    if function not in _known:
        _known[function] = False
        _known[function] = certain(function.body, scope.within(function))
    return _known[function]


def certain(body: Sequence[ast.stmt], scope: Scope) -> bool:
    return any(_statement(one, scope) for one in body)


def _statement(one: ast.stmt, scope: Scope) -> bool:
    match one:
        case ast.Assert():
            return True
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return False
        case ast.If():
            return _within(one.test, scope) or (certain(one.body, scope) and certain(one.orelse, scope))
        case ast.For() | ast.AsyncFor() | ast.While():
            return _loop(one, scope)
        case ast.With() | ast.AsyncWith():
            return any(_within(item.context_expr, scope) for item in one.items) or certain(one.body, scope)
        case ast.Try():
            return certain(one.body, scope) or certain(one.finalbody, scope)
    return not isinstance(one, ast.Match) and _within(one, scope)


def _loop(one: ast.For | ast.AsyncFor | ast.While, scope: Scope) -> bool:
    if isinstance(one, ast.While):
        head, runs = one.test, isinstance(one.test, ast.Constant) and bool(one.test.value)
    else:
        head, runs = one.iter, has_elements(one.iter, scope)
    return _within(head, scope) or (runs and certain(one.body, scope)) or certain(one.orelse, scope)


def _within(node: ast.AST, scope: Scope) -> bool:
    """Whether evaluating an expression, or a simple statement, asserts."""
    match node:
        case ast.Lambda():
            return _fails(node)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return _comprehension(node, scope)
        case ast.Call() if _asserting(node, scope):
            return True
        case ast.Name():  # a function that is given to what must not call it
            return node.id in scope.functions and _fails(scope.functions[node.id])
        case ast.BoolOp():
            return _within(node.values[0], scope)
        case ast.IfExp():
            return _within(node.test, scope)
    return any(_within(child, scope) for child in ast.iter_child_nodes(node))


def _comprehension(node: Comprehension, scope: Scope) -> bool:
    if _within(node.generators[0].iter, scope):
        return True
    inner = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    return has_elements(node, scope) and any(_within(each, scope) for each in inner)


def _fails(node: ast.AST) -> bool:
    """Whether there is a call of pytest.fail in it."""
    return any(isinstance(each, ast.Call) and _is_fail(each) for each in ast.walk(node))


def _is_fail(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "fail" and _name(call.func.value) == "pytest"


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _asserting(call: ast.Call, scope: Scope) -> bool:
    if isinstance(call.func, ast.Attribute):
        name, owner = call.func.attr, _name(call.func.value)
        if owner == "pytest" and name in OF_PYTEST:
            return True
    else:
        name, owner = _name(call.func), ""
    return name.startswith(NAMED_FOR_IT) or any(asserts(one, where) for one, where in _called(name, owner, scope))


def _called(name: str, owner: str, scope: Scope) -> Iterator[tuple[Function, Scope]]:
    """The functions under tests/ that such a call may mean; of a fixture, those that are made in it."""
    if name in scope.functions:
        yield scope.functions[name], scope
        return
    module, there = scope.module.imports.get(owner or name, ("", name))
    found: Module | None = scope.module
    if module:
        found, there = (_imported(f"{module}.{there}"), name) if owner else (_imported(module), there)
    if found and there in found.functions and (module or not owner):
        function, where = found.functions[there], Scope(found)
        nested = where.within(function)
        is_fixture = any("fixture" in ast.unparse(one) for one in function.decorator_list)
        yield from ((one, nested) for one in nested.functions.values()) if is_fixture else [(function, where)]
        return
    near = {module for module, _ in scope.module.imports.values()}
    for one in [scope.module, *filter(None, map(_imported, sorted(near)))]:
        yield from ((method, Scope(one)) for method in one.methods.get(name, []))


def has_elements(node: ast.expr, scope: Scope) -> bool:
    """Return whether a loop over this certainly runs."""
    match node:
        case ast.List() | ast.Tuple() | ast.Set():
            return any(not isinstance(one, ast.Starred) or has_elements(one.value, scope) for one in node.elts)
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return any(key is not None or has_elements(value, scope) for key, value in pairs)
        case ast.Constant():
            return isinstance(node.value, str | bytes) and bool(node.value)
        case ast.BinOp(op=ast.Mult() | ast.Add() | ast.BitOr()):
            return has_elements(node.left, scope) or has_elements(node.right, scope)
        case ast.Call():
            return _call_has_elements(node, scope)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return all(has_elements(one.iter, scope) and not one.ifs for one in node.generators)
    return _constant(node, scope)


def _constant(node: ast.expr, scope: Scope) -> bool:
    """Whether it is a name of something with elements: of a literal, of a constant, or of an enumeration."""
    if isinstance(node, ast.Attribute):
        return node.attr.isupper() or node.attr in OF_CLASSES or _is_class(node.attr)
    name = _name(node)
    if name in scope.values:
        others = {key: value for key, value in scope.values.items() if key != name}
        return has_elements(scope.values[name], Scope(scope.module, scope.functions, others))
    if name in scope.module.constants and not name.isupper():
        return has_elements(scope.module.constants[name], Scope(scope.module))
    return name.isupper() or _is_class(name)


def _is_class(name: str) -> bool:
    return name[:1].isupper() and not name.isupper()


def _call_has_elements(call: ast.Call, scope: Scope) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else _name(call.func)
    if name == "range":
        return bool(call.args) and _runs(call.args, scope)
    if name in VIEWS and isinstance(call.func, ast.Attribute):
        return has_elements(call.func.value, scope)
    if name == "split" and call.args:
        return True
    if name == "map":
        return all(has_elements(one, scope) for one in call.args[1:])
    return name in WRAPPERS and bool(call.args) and all(has_elements(one, scope) for one in call.args)


def _runs(bounds: Sequence[ast.expr], scope: Scope) -> bool:
    """Whether range() of this yields anything: of constants, or up to a constant of a module."""
    if len(bounds) == 1 and isinstance(bounds[0], ast.Name):
        value = scope.values.get(bounds[0].id) or scope.module.constants.get(bounds[0].id)
        return bounds[0].id.isupper() or (isinstance(value, ast.Constant) and bool(value.value))
    try:
        return len(range(*(ast.literal_eval(one) for one in bounds))) > 0
    except (ValueError, TypeError):
        return False


@cache
def _conftest(folder: Path) -> Module | None:
    path = folder / "conftest.py"
    return module_of(path) if path.exists() else None


def _after_the_test(name: str, path: Path) -> bool:
    """Whether a fixture of this name asserts once the test has run."""
    folders = [one for one in path.parents if ROOT in one.parents]
    for module in [module_of(path), *filter(None, (_conftest(folder) for folder in folders))]:
        if fixture := module.functions.get(name):
            ends = [n for n, one in enumerate(fixture.body) if any(isinstance(x, ast.Yield) for x in ast.walk(one))]
            return bool(ends) and certain(fixture.body[ends[-1] + 1 :], Scope(module).within(fixture))
    return False


def _fixtures(test: Function) -> Iterator[str]:
    yield from (one.arg for one in test.args.args)
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute) and mark.func.attr == "usefixtures":
            yield from (one.value for one in mark.args if isinstance(one, ast.Constant) and isinstance(one.value, str))


def tests_of(path: Path) -> Iterator[tuple[str, Function]]:
    for one in module_of(path).tree.body:
        if isinstance(one, Function) and one.name.startswith("test_"):
            yield one.name, one
        elif isinstance(one, ast.ClassDef) and one.name.startswith("Test"):
            inner = [each for each in one.body if isinstance(each, Function) and each.name.startswith("test_")]
            yield from ((f"{one.name}::{each.name}", each) for each in inner)


def unsure(folder: Path = ROOT / "tests") -> list[str]:
    """Return the tests that may assert nothing, as pytest names them."""
    found = []
    for path in sorted(folder.rglob("test_*.py")):
        scope = Scope(module_of(path))
        for name, test in tests_of(path):
            if not asserts(test, scope) and not any(_after_the_test(one, path) for one in _fixtures(test)):
                found.append(f"{path.relative_to(ROOT)}::{name}")
    return found


if __name__ == "__main__":
    print("\n".join(unsure()))  # noqa: T201
