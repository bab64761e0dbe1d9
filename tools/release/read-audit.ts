// Decides from the report of `npm audit` if a release may go out.
interface AuditReport {
  readonly metadata?: { readonly vulnerabilities?: Readonly<Record<string, number>> }
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string }>>
  readonly error?: { readonly summary?: string }
  readonly message?: string
}

interface AuditOutcome {
  readonly line: string
  readonly isFailed: boolean
}

/** Severities that block a release until an update. Lower ones wait for the next release. */
const failing: ReadonlySet<string> = new Set(['moderate', 'high', 'critical'])

/** Reads the report of `npm audit --json`. A registry that does not answer is no finding. */
export function readAudit(text: string): AuditOutcome {
  const report = parse(text)
  if (!report?.metadata) {
    const reason = report?.message ?? report?.error?.summary ?? 'npm printed no report'
    return { line: `SKIPPED  audit: ${reason}`, isFailed: false }
  }
  const serious = Object.entries(report.vulnerabilities ?? {}).filter(([, { severity }]) => failing.has(severity))
  const names = serious.map(([name, { severity }]) => `${name} (${severity})`)
  return names.length === 0
    ? { line: 'No known vulnerability of moderate severity or more.', isFailed: false }
    : {
        line: `Known vulnerabilities: ${names.join(', ')}. Update them, or say in SECURITY.md why they do not apply.`,
        isFailed: true,
      }
}

function parse(text: string): AuditReport | undefined {
  try {
    return JSON.parse(text) as AuditReport
  } catch {
    return undefined
  }
}
