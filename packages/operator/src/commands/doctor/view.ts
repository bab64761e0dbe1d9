// Prints the findings of `postern doctor`, each with its fix.
import { isConfigFault, Rejection } from '@postern/message'
import { CommandError, withClient } from '../../client/client.ts'
import type { CheckGroup, CheckOutcome, DoctorFinding, DoctorReport } from '../../doctor/report.ts'
import type { Screen, Style } from '../../terminal/text.ts'
import { formatMarkedLine, paint, toTerminalLine, wrapText } from '../../terminal/text.ts'
import type { CommandContext, ScreenOutput } from '../context.ts'
import { doctorOperations, readCheckGroups } from './route.ts'

type DoctorContext = Pick<CommandContext, 'examineUnopened' | 'describeFile'>

/** Runs the checks. The exit code is 1 if one fails; a warning leaves it at 0. */
export async function printDoctor(
  output: ScreenOutput,
  { only }: { readonly only?: string },
  { examineUnopened, describeFile }: DoctorContext,
): Promise<void> {
  const groups = parseGroups(only)
  const query = { only: groups.join(), ...(await describeFile()) }
  const pendingReport = withClient(output, client => client.call(doctorOperations.run, { query }))
  const report = await pendingReport.catch((error: unknown) => {
    if (isConfigFault(error)) return examineUnopened(error, groups)
    throw error
  })
  if (output.json) output.print(JSON.stringify(report, null, 2))
  else output.printStyled(formatFindings(report, output))
  if (report.counts.failure > 0) process.exitCode = 1
}

function parseGroups(only: string | undefined): readonly CheckGroup[] {
  try {
    return readCheckGroups(only)
  } catch (error) {
    throw error instanceof Rejection ? new CommandError(error.message) : error
  }
}

const marks: Readonly<Record<CheckOutcome['verdict'], readonly [mark: string, style: Style]>> = {
  ok: ['✓', 'green'],
  warning: ['!', 'yellow'],
  failure: ['✗', 'red'],
  skipped: ['–', 'dim'],
}

/** Formats the findings by group, each with its fix, and their counts at the end. */
export function formatFindings({ findings, counts, gateway, ms }: DoctorReport, screen: Screen): string {
  const groups = [...new Set(findings.map(({ group }) => group))]
  const sections = groups.map(group => {
    const groupFindings = findings.filter(finding => finding.group === group)
    return [
      paint(group, 'bold', screen),
      ...mergeSkipped(groupFindings).flatMap(line => formatLine(line, screen)),
    ].join('\n')
  })
  const sum = `${counts.failure} failed, ${counts.warning} warnings, ${counts.ok} ok, ${counts.skipped} skipped`
  const state =
    gateway === 'running' ? 'The gateway is running.' : 'No gateway is running, so checks that need one were left out.'
  return [...sections, ...wrapText(`${sum}, in ${(ms / 1000).toFixed(1)} s. ${state}`, screen.columns)].join('\n')
}

interface FindingLine extends Pick<DoctorFinding, 'verdict' | 'message' | 'fix'> {
  /** Names of the checks, without their group. */
  readonly names: readonly string[]
}

/** Joins the checks of a group that were skipped for the same reason into one line, at the position of the first check. */
function mergeSkipped(findings: readonly DoctorFinding[]): readonly FindingLine[] {
  const lines = new Map<string, FindingLine>()
  for (const finding of findings) {
    const { id, subject, verdict, fix } = finding
    const [, name = id] = id.split('.')
    const isOnlyOne = findings.every(otherFinding => otherFinding === finding || otherFinding.id !== id)
    const needsNoSubject = verdict === 'skipped' || (verdict === 'ok' && isOnlyOne)
    const message = needsNoSubject ? finding.message : nameSubject(finding)
    const key = verdict === 'skipped' ? message : `${id} ${subject} ${message}`
    const names = lines.get(key)?.names ?? []
    lines.set(key, { verdict, message, fix, names: names.includes(name) ? names : [...names, name] })
  }
  return [...lines.values()]
}

/** Puts the subject before a sentence that does not name it already. */
function nameSubject({ subject, message }: DoctorFinding): string {
  return subject === '' || message.includes(subject) ? message : `${subject}: ${message}`
}

function formatLine({ names, verdict, message, fix }: FindingLine, screen: Screen): readonly string[] {
  const text = `${names.join(', ')}: ${toTerminalLine(message)}`
  const isShown = fix !== undefined && verdict !== 'ok'
  return formatMarkedLine(
    { mark: marks[verdict], margin: 2, text, fix: isShown ? toTerminalLine(fix) : undefined },
    screen,
  )
}
