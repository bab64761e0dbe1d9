// The results of checks: ok, warning or error, with a fix.
export interface Verdict {
  readonly severity: 'ok' | 'warning' | 'error'
  readonly message: string
  readonly fix?: string | undefined
}

export const ok = (message: string): Verdict => ({ severity: 'ok', message })
export const warning = (message: string, fix: string): Verdict => ({ severity: 'warning', message, fix })
export const failure = (message: string, fix: string): Verdict => ({ severity: 'error', message, fix })
