// Runs the test suites of other projects by hand, on copies of the suites.
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { scoreArc } from './arc-suite.ts'
import { scoreChains, scoreDkim } from './dkim-suite.ts'
import { scoreMime } from './mime-suite.ts'
import { scoreNeverAnswered } from './never-answered-suite.ts'
import { scoreReplies } from './replies-suite.ts'
import type { ScoredCase } from './score.ts'
import { printScore, printScoreLine } from './score.ts'
import { scoreSpf } from './spf-suite.ts'

// `node packages/email/test/suites/main.ts <folder>` runs the suites that docs/explanation/conformance.md lists. The
// repository contains the suites whose licence allows copies, and `suites.test.ts` runs these.

const suites: readonly (readonly [
  title: string,
  path: string,
  score: (file: URL) => Promise<readonly ScoredCase[]>,
])[] = [
  ['SPF, RFC 7208', 'pyspf/test/rfc7208-tests.yml', scoreSpf],
  ['SPF, RFC 4408', 'pyspf/test/rfc4408-tests.yml', scoreSpf],
  ['ARC, RFC 8617', 'arc_test_suite/tests/arc-draft-validation-tests.yml', scoreArc],
  ['DKIM, signed mail of Stalwart', 'mail-auth/resources/dkim/', scoreDkim],
  ['ARC, sealed mail of Stalwart', 'mail-auth/resources/arc/', scoreChains],
  ['messages, mikel/mail', 'mail/spec/fixtures/emails/', scoreMime],
  ['messages, mail-parser', 'mail-parser/resources/eml/', scoreMime],
  ['messages, mime4j', 'james-mime4j/core/src/test/resources/', scoreMime],
  ['automatic mail, Sisimai', 'set-of-emails/maildir/bsd/', scoreNeverAnswered],
  ['replies, Discourse', 'email_reply_trimmer/test/emails/', scoreReplies],
]

const folder = pathToFileURL(`${process.argv[2] ?? '.'}/`)
for (const [title, path, score] of suites) {
  const file = new URL(path, folder)
  if (existsSync(file)) printScore(title, await score(file))
  else printScoreLine(`${title}: not there (${path})`)
}
