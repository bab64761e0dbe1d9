import { endsParagraph, formattingElements, scopeElements, tableElements } from './kinds.ts'

/** The elements that are open, nested as browsers nest them, so that what is hidden there is hidden here. */
interface OpenElements<Context> {
  /** @param read what the element is to its content; called again where the element goes on behind a wrong end tag */
  enter(name: string, read: (outer: Context) => Context): void
  /** False where no such element can be ended here. */
  leave(name: string): boolean
  context(): Context
  /** Is an element of this name open? */
  has(name: string): boolean
}

/** So many elements go on at one end tag, and so far in lies the formatting element that it ends. */
const maxCarried = 16
/** An item ends the item before it in its list; between the two stands little. */
const maxItemSearch = 16

interface Entry<Context> {
  readonly name: string
  readonly context: Context
  readonly read: (outer: Context) => Context
}

type Counts = Map<string, number>

/** Counts of open names keep a search for one that is not open from being begun: the work stays linear. */
export function createOpenElements<Context>(root: Context): OpenElements<Context> {
  const entries: Entry<Context>[] = []
  const total: Counts = new Map()
  const cells: Counts[] = [new Map()]
  const tables: Counts[] = [new Map()]
  const context = () => entries.at(-1)?.context ?? root

  function push(entry: Entry<Context>): void {
    entries.push(entry)
    for (const counts of [total, cells.at(-1), tables.at(-1)]) change(counts, entry.name, 1)
    if (scopeElements.has(entry.name)) cells.push(new Map())
    if (entry.name === 'table') tables.push(new Map())
  }
  function pop(): Entry<Context> | undefined {
    const entry = entries.pop()
    if (!entry) return undefined
    if (scopeElements.has(entry.name)) cells.pop()
    if (entry.name === 'table') tables.pop()
    for (const counts of [total, cells.at(-1), tables.at(-1)]) change(counts, entry.name, -1)
    return entry
  }
  function enter(name: string, read: (outer: Context) => Context): void {
    push({ name, read, context: read(context()) })
  }
  function leave(name: string): boolean {
    const counts = name === 'table' ? total : tableElements.has(name) ? tables.at(-1) : cells.at(-1)
    // A cell is closed from within, where its own counts do not name it.
    // An element that begins a scope is counted outside of it.
    const isOpen = (counts?.get(name) ?? 0) > 0 || (scopeElements.has(name) && (tables.at(-1)?.get(name) ?? 0) > 0)
    if (!isOpen) return false
    if (formattingElements.has(name)) return endFormatting(name)
    const isTable = scopeElements.has(name) || tableElements.has(name)
    carry(popThrough(name).filter(entry => !isTable && formattingElements.has(entry.name)))
    return true
  }
  /** Only this one ends: what was opened in it goes on. */
  function endFormatting(name: string): boolean {
    if (!entries.slice(-maxCarried).some(entry => entry.name === name)) return false
    carry(popThrough(name))
    return true
  }
  /** Those that were opened within, innermost first. */
  function popThrough(name: string): Entry<Context>[] {
    const inner: Entry<Context>[] = []
    for (let entry = pop(); entry && entry.name !== name; entry = pop()) inner.push(entry)
    return inner
  }
  function carry(inner: readonly Entry<Context>[]): void {
    for (const { name, read } of inner.slice(0, maxCarried).reverse()) enter(name, read)
  }
  function endItem(names: readonly string[], stops: readonly string[]): void {
    for (const { name } of entries.slice(-maxItemSearch).reverse()) {
      if (names.includes(name)) return void leave(name)
      if (stops.includes(name) || scopeElements.has(name)) return
    }
  }
  function endImplied(name: string): void {
    if (endsParagraph.has(name)) leave('p')
    if (name === 'li') endItem(['li'], ['ul', 'ol'])
    else if (name === 'dt' || name === 'dd') endItem(['dt', 'dd'], ['dl'])
    else if (name === 'tr') leave('tr')
    else if (name === 'td' || name === 'th') for (const cell of ['td', 'th']) leave(cell)
  }

  return {
    enter(name, read) {
      endImplied(name)
      enter(name, read)
    },
    leave,
    context,
    has: name => (total.get(name) ?? 0) > 0,
  }
}

function change(counts: Counts | undefined, name: string, by: number): void {
  counts?.set(name, (counts.get(name) ?? 0) + by)
}
