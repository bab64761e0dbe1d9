// Runs ValiMail's validation suite for ARC.
import { verifyChain } from '../../src/arc/verify-chain.ts'
import { toCrlf } from '../../src/mail/line-ends.ts'
import { readDocuments } from './read-documents.ts'
import type { ScoredCase } from './score.ts'

interface ArcDocument {
  readonly tests?: Readonly<Record<string, { readonly message: string; readonly cv: string }>>
  readonly 'txt-records'?: Readonly<Record<string, string>>
}

/** Scores ValiMail's validation suite with the code that the worker runs. */
export async function scoreArc(file: URL): Promise<readonly ScoredCase[]> {
  const cases: ScoredCase[] = []
  for (const document of readDocuments(file) as readonly ArcDocument[]) {
    const records = Object.entries(document['txt-records'] ?? {})
    const keys = Object.fromEntries(records.map(([name, text]) => [name.toLowerCase(), { records: [[text]] }]))
    for (const [name, { message, cv }] of Object.entries(document.tests ?? {})) {
      const octets = toCrlf(Buffer.from(message, 'latin1'))
      const { result } = await verifyChain(octets, { keys, now: Date.now() })
      const expected = cv.trim().toLowerCase()
      cases.push({ name, hasPassed: result === expected, note: `${result} instead of "${expected}"` })
    }
  }
  return cases
}
