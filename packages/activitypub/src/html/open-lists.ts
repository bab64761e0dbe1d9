/** Deeper than any honest post; of deeper ones the outermost are forgotten. */
const maxLists = 256

/** The lists a reader is in. */
export interface OpenLists {
  enter(name: string, attributes: ReadonlyMap<string, string>): void
  leave(name: string): void
  /** What stands before the next item of the innermost list. */
  nextMark(): string
}

export function createOpenLists(): OpenLists {
  /** The next number of each open list; undefined where items are not numbered. */
  const open: (number | undefined)[] = []
  return {
    enter(name, attributes) {
      if (name === 'ul') open.push(undefined)
      if (name === 'ol') open.push(readStart(attributes.get('start')))
      if (open.length > maxLists) open.shift()
    },
    leave(name) {
      if (name === 'ul' || name === 'ol') open.pop()
    },
    nextMark() {
      const number = open.at(-1)
      if (number === undefined) return '- '
      open[open.length - 1] = number + 1
      return `${number}. `
    },
  }
}

function readStart(text: string | undefined): number {
  return text && /^\d{1,6}$/.test(text) ? Number(text) : 1
}
