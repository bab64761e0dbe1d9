import type { ExpectedOutcome, SendResult } from '@postern/simulation'

/** Whether a message ended as the catalogue has it, as far as its sender can see. */
export function isAsExpected({ status, refusal }: Pick<SendResult, 'status' | 'refusal'>, expected: ExpectedOutcome) {
  switch (expected.outcome) {
    case 'answered':
      return refusal === undefined && status !== 'no_reply'
    case 'kept':
      return refusal === undefined && status === 'no_reply'
    default:
      return refusal?.answer === expected.answer
  }
}
