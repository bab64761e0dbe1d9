/** What a gateway does with one message of the simulation. */
export type ExpectedOutcome =
  /** It is taken, the agent answers. */
  | { readonly outcome: 'answered' }
  /** It is taken and stored, and no agent sees it; `flag` says why. */
  | { readonly outcome: 'kept'; readonly flag: string }
  /** `answer`: HTTP status or SMTP code; `code`: of the refusal. */
  | { readonly outcome: 'refused'; readonly answer: number; readonly code: string }
  /** The peer is asked to come back: something did not answer that the proof depends on. */
  | { readonly outcome: 'later'; readonly answer: number }

export const answered: ExpectedOutcome = { outcome: 'answered' }

export const kept = (flag: string): ExpectedOutcome => ({ outcome: 'kept', flag })

export const refused = (answer: number, code: string): ExpectedOutcome => ({ outcome: 'refused', answer, code })

export const later = (answer: number): ExpectedOutcome => ({ outcome: 'later', answer })
