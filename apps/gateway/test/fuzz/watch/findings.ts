// Collects the faults that the fuzzer finds.
import type { FuzzCase } from '../cases/case.ts'

export interface FuzzFinding {
  readonly text: string
  /** The case that caused the fault, or all that may have. */
  readonly suspects: readonly FuzzCase[]
}

interface FuzzFindings {
  readonly list: readonly FuzzFinding[]
  begin(fuzzCase: FuzzCase): void
  endCase(fuzzCase: FuzzCase): void
  /** Adds a fault. Without a case, all cases in flight are suspects, and so are those sent just before. */
  add(text: string, fuzzCase?: FuzzCase): void
}

const remembered = 6

/** Creates a list that has each fault once, however often it occurs. */
export function createFuzzFindings(): FuzzFindings {
  const list: FuzzFinding[] = []
  const seenKeys = new Set<string>()
  const open = new Set<FuzzCase>()
  const recent: FuzzCase[] = []
  return {
    list,
    begin: fuzzCase => void open.add(fuzzCase),
    endCase(fuzzCase) {
      open.delete(fuzzCase)
      recent.push(fuzzCase)
      if (recent.length > remembered) recent.shift()
    },
    add(text, fuzzCase) {
      const name = `${fuzzCase?.endpoint ?? ''} ${text.split('\n').slice(0, 4).join('\n')}`
      if (seenKeys.has(name)) return
      seenKeys.add(name)
      list.push({ text, suspects: fuzzCase ? [fuzzCase] : [...recent, ...open] })
    },
  }
}
