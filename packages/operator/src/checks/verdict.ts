// Defines the result of a check.

/** The result of a check: its severity, one sentence, and the fix unless all is well. */
export interface Verdict {
  readonly severity: 'ok' | 'warning' | 'error'
  readonly message: string
  readonly fix?: string | undefined
}

export const ok = (message: string): Verdict => ({ severity: 'ok', message })
export const warning = (message: string, fix: string): Verdict => ({ severity: 'warning', message, fix })
export const failure = (message: string, fix: string): Verdict => ({ severity: 'error', message, fix })
