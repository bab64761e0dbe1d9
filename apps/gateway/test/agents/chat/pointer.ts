// Answers with files whose bytes the gateway lacks: one on another host, and one that does not exist.
import type { NormalizedMessage, NormalizedResponse } from '@postern/message'

export function handle(_: NormalizedMessage): Pick<NormalizedResponse, 'parts'> {
  const makeReference = (digit: string) =>
    ({ kind: 'content_addressed', algo: 'sha256', digest: digit.repeat(64) }) as const
  return {
    parts: [
      { kind: 'text', mime: 'text/plain', content: 'Here are the plans.' },
      {
        kind: 'file',
        name: 'plans.pdf',
        mime: 'application/pdf',
        bytes_ref: { ...makeReference('a'), url: 'https://files.test/plans.pdf' },
      },
      { kind: 'file', name: 'lost.pdf', mime: 'application/pdf', bytes_ref: makeReference('b') },
    ],
  }
}
