import { endsParagraph, formattingElements, scopeElements, tableElements } from './kinds.ts'
import type { Nesting, OpenElement } from './nesting.ts'
import { contextOf, popThrough, push } from './nesting.ts'

/** The open elements, nested as browsers nest them, so that text hidden there is hidden here. */
interface OpenElements<Context> {
  /** @param read what the element is to its content; called again where the element continues after a wrong end tag */
  enter(name: string, read: (outer: Context) => Context): void
  /** False where no such element can end here. */
  leave(name: string): boolean
  context(): Context
  /** Whether an element of this name is open. */
  has(name: string): boolean
}

/** The maximum of elements that continue after one end tag, and the depth in which it finds its formatting element. */
const maxCarried = 16
/** An item ends the previous item of its list; only few elements are between the two. */
const maxItemSearch = 16

export function createOpenElements<Context>(root: Context): OpenElements<Context> {
  const state: Nesting<Context> = { root, entries: [], total: new Map(), cells: [new Map()], tables: [new Map()] }
  return {
    enter(name, read) {
      endImplied(state, name)
      enter(state, name, read)
    },
    leave: name => leave(state, name),
    context: () => contextOf(state),
    has: name => (state.total.get(name) ?? 0) > 0,
  }
}

function enter<Context>(state: Nesting<Context>, name: string, read: (outer: Context) => Context): void {
  push(state, { name, read, context: read(contextOf(state)) })
}

function leave<Context>(state: Nesting<Context>, name: string): boolean {
  const counts = name === 'table' ? state.total : tableElements.has(name) ? state.tables.at(-1) : state.cells.at(-1)
  // A cell is closed from within, where its own counts do not name it.
  // An element that begins a scope is counted outside of it.
  const isOpen = (counts?.get(name) ?? 0) > 0 || (scopeElements.has(name) && (state.tables.at(-1)?.get(name) ?? 0) > 0)
  if (!isOpen) return false
  if (formattingElements.has(name)) return endFormatting(state, name)
  const isTable = scopeElements.has(name) || tableElements.has(name)
  carry(
    state,
    popThrough(state, name).filter(entry => !isTable && formattingElements.has(entry.name)),
  )
  return true
}

/** Only this element ends; those opened in it continue. */
function endFormatting<Context>(state: Nesting<Context>, name: string): boolean {
  if (!state.entries.slice(-maxCarried).some(entry => entry.name === name)) return false
  carry(state, popThrough(state, name))
  return true
}

function carry<Context>(state: Nesting<Context>, inner: readonly OpenElement<Context>[]): void {
  for (const { name, read } of inner.slice(0, maxCarried).reverse()) enter(state, name, read)
}

function endItem<Context>(state: Nesting<Context>, names: readonly string[], stops: readonly string[]): void {
  for (const { name } of state.entries.slice(-maxItemSearch).reverse()) {
    if (names.includes(name)) return void leave(state, name)
    if (stops.includes(name) || scopeElements.has(name)) return
  }
}

function endImplied<Context>(state: Nesting<Context>, name: string): void {
  if (endsParagraph.has(name)) leave(state, 'p')
  if (name === 'li') endItem(state, ['li'], ['ul', 'ol'])
  else if (name === 'dt' || name === 'dd') endItem(state, ['dt', 'dd'], ['dl'])
  else if (name === 'tr') leave(state, 'tr')
  else if (name === 'td' || name === 'th') for (const cell of ['td', 'th']) leave(state, cell)
}
