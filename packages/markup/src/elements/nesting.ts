import { scopeElements } from './kinds.ts'

export interface OpenElement<Context> {
  readonly name: string
  readonly context: Context
  readonly read: (outer: Context) => Context
}

type Counts = Map<string, number>

/** Open elements, and how many of each name are open. The counts avoid searches for a name that is not open, so the work stays linear. */
export interface Nesting<Context> {
  readonly root: Context
  readonly entries: OpenElement<Context>[]
  readonly total: Counts
  /** Counts within each open cell or other scope. */
  readonly cells: Counts[]
  /** Counts within each open table. */
  readonly tables: Counts[]
}

/** The context of the innermost element. */
export function contextOf<Context>({ entries, root }: Nesting<Context>): Context {
  return entries.at(-1)?.context ?? root
}

export function push<Context>(state: Nesting<Context>, entry: OpenElement<Context>): void {
  state.entries.push(entry)
  for (const counts of [state.total, state.cells.at(-1), state.tables.at(-1)]) change(counts, entry.name, 1)
  if (scopeElements.has(entry.name)) state.cells.push(new Map())
  if (entry.name === 'table') state.tables.push(new Map())
}

function pop<Context>(state: Nesting<Context>): OpenElement<Context> | undefined {
  const entry = state.entries.pop()
  if (!entry) return undefined
  if (scopeElements.has(entry.name)) state.cells.pop()
  if (entry.name === 'table') state.tables.pop()
  for (const counts of [state.total, state.cells.at(-1), state.tables.at(-1)]) change(counts, entry.name, -1)
  return entry
}

/** Closes an element of this name, and returns those opened within, innermost first. */
export function popThrough<Context>(state: Nesting<Context>, name: string): OpenElement<Context>[] {
  const inner: OpenElement<Context>[] = []
  for (let entry = pop(state); entry && entry.name !== name; entry = pop(state)) inner.push(entry)
  return inner
}

function change(counts: Counts | undefined, name: string, by: number): void {
  counts?.set(name, (counts.get(name) ?? 0) + by)
}
