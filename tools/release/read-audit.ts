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

/** From here on a release waits for an update; below it the next release has it. */
const failing: ReadonlySet<string> = new Set(['moderate', 'high', 'critical'])

/** What `npm audit --json` printed. A registry that has no answer is no finding. */
export function readAudit(text: string): AuditOutcome {
  const report = parse(text)
  if (!report?.metadata) {
    const reason = report?.message ?? report?.error?.summary ?? 'npm printed no report'
    return { line: `SKIPPED  audit: ${reason}`, isFailed: false }
  }
  const found = Object.entries(report.vulnerabilities ?? {}).filter(([, { severity }]) => failing.has(severity))
  const names = found.map(([name, { severity }]) => `${name} (${severity})`)
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
