import type { EntryBody } from '../entry/entry.ts'
import { splitMessages } from '../entry/place-entries.ts'

/** Lets other work run. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

/** Entries in one slice: some milliseconds of work. */
const sliceSize = 100

/** A list in slices, with pauses for other work; `at`: the index of the first. */
export async function* takeSlices<Item>(
  items: readonly Item[],
): AsyncGenerator<{ readonly slice: readonly Item[]; readonly at: number }> {
  for (let at = 0; at < items.length; at += sliceSize) {
    yield { slice: items.slice(at, at + sliceSize), at }
    await yieldToEventLoop()
  }
}

/** Entries in slices that end with a message. */
export function sliceMessages(entries: readonly EntryBody[]): readonly (readonly EntryBody[])[] {
  const slices: EntryBody[][] = []
  for (const message of splitMessages(entries)) {
    const last = slices.at(-1)
    if (last && last.length < sliceSize) last.push(...message)
    else slices.push([...message])
  }
  return slices
}
