import { expect, test } from 'vitest'
import { scoreChains, scoreDkim } from './dkim-suite.ts'
import { scoreMime } from './mime-suite.ts'
import type { ScoredCase } from './score.ts'
import { formatScore, printScore } from './score.ts'
import { scoreSpf } from './spf-suite.ts'

// These tests run the test suites of other projects unchanged (fixtures/email/suites). A case whose result differs is
// listed with the reason.

interface Suite {
  readonly title: string
  readonly path: string
  readonly score: (path: URL) => Promise<readonly ScoredCase[]>
  readonly expected: string
  /** The cases with different results. */
  readonly differingCases?: readonly string[]
}

const suites: readonly Suite[] = [
  { title: 'SPF, RFC 7208', path: 'spf/rfc7208-tests.json', score: scoreSpf, expected: '203 of 203' },
  { title: 'SPF, RFC 4408', path: 'spf/rfc4408-tests.json', score: scoreSpf, expected: '191 of 191' },
  {
    title: 'DKIM, signed mail of Stalwart',
    path: 'mail-auth/dkim/',
    score: scoreDkim,
    expected: '5 of 6',
    // This mail was signed five hours after the time at which the suite runs.
    differingCases: ['004.txt'],
  },
  { title: 'ARC, sealed mail of Stalwart', path: 'mail-auth/arc/', score: scoreChains, expected: '2 of 2' },
  // The gateway refuses mail without a readable From, but the suite reads its body too.
  {
    title: 'messages, mail-parser',
    path: 'mail-parser/',
    score: scoreMime,
    expected: '202 of 202, 113 of them refused',
  },
  { title: 'messages, mime4j', path: 'mime4j/', score: scoreMime, expected: '32 of 32, 23 of them refused' },
]

test.each(suites)(
  'the verifier gives the expected result for $title: $expected',
  async ({ title, path, score, expected, differingCases = [] }) => {
    const cases = await score(new URL(`../../../../fixtures/email/suites/${path}`, import.meta.url))
    printScore(title, cases)
    expect(cases.flatMap(({ name, hasPassed }) => (hasPassed ? [] : [name]))).toEqual(differingCases)
    expect(formatScore(cases)).toBe(expected)
  },
)
