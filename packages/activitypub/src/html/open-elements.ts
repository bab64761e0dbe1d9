/** Deeper than any honest post; what lies deeper is not shown. */
const maxOpen = 256

/** The elements a text stands in. */
export interface OpenElements {
  enter(name: string, hides: boolean): void
  leave(name: string): void
  isHiding(): boolean
  isVerbatim(): boolean
}

export function createOpenElements(): OpenElements {
  const elements: { readonly name: string; readonly hides: boolean }[] = []
  /** How many of a name are open, so that a search that would find nothing is not begun. */
  const counts = new Map<string, number>()
  const count = (name: string, change: number) => counts.set(name, (counts.get(name) ?? 0) + change)
  let hiding = 0
  let verbatim = 0
  return {
    enter(name, hides) {
      const isTooDeep = elements.length === maxOpen
      if (hides || isTooDeep) hiding += 1
      if (isTooDeep) return
      if (name === 'pre') verbatim += 1
      elements.push({ name, hides })
      count(name, 1)
    },
    leave(name) {
      if (!counts.get(name)) return
      for (const element of elements.splice(elements.findLastIndex(open => open.name === name))) {
        count(element.name, -1)
        if (element.hides) hiding -= 1
        if (element.name === 'pre') verbatim -= 1
      }
    },
    isHiding: () => hiding > 0,
    isVerbatim: () => verbatim > 0,
  }
}
