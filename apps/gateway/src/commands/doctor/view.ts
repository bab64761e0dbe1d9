import { Rejection } from '@postern/core'
import type { CheckGroup, CheckOutcome, DoctorFinding, DoctorReport } from '../../doctor/report.ts'
import type { Screen, Style } from '../../terminal/text.ts'
import { formatMarkedLine, paint, toTerminalLine, wrapText } from '../../terminal/text.ts'
import { CommandError, withClient } from '../client.ts'
import { isConfigFault } from '../config-fault.ts'
import type { CommandContext, ScreenOutput } from '../context.ts'
import { doctorOperations, readCheckGroups } from './route.ts'

/** Runs the checks; the exit code is 1 where one fails. A warning leaves it at 0. */
export async function printDoctor(
  { examineUnopened }: Pick<CommandContext, 'examineUnopened'>,
  output: ScreenOutput,
  only?: string,
): Promise<void> {
  const groups = readAsked(only)
  const query = { only: groups.join() }
  const asking = withClient(output, client => client.call(doctorOperations.run, { query }))
  const report = await asking.catch((error: unknown) => {
    if (isConfigFault(error)) return examineUnopened(error, groups)
    throw error
  })
  if (output.json) output.print(JSON.stringify(report, null, 2))
  else output.printStyled(formatFindings(report, output))
  if (report.counts.failure > 0) process.exitCode = 1
}

function readAsked(only: string | undefined): readonly CheckGroup[] {
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

/** Findings by group, each with its fix, and the sum at the end. */
export function formatFindings({ findings, counts, gateway, ms }: DoctorReport, screen: Screen): string {
  const groups = [...new Set(findings.map(({ group }) => group))]
  const sections = groups.map(group => {
    const own = findings.filter(finding => finding.group === group)
    return [paint(group, 'bold', screen), ...mergeSkipped(own).flatMap(line => formatLine(line, screen))].join('\n')
  })
  const sum = `${counts.failure} failed, ${counts.warning} warnings, ${counts.ok} ok, ${counts.skipped} skipped`
  const state = gateway === 'running' ? 'The gateway is running.' : 'No gateway is running: only the rest was checked.'
  return [...sections, ...wrapText(`${sum}, in ${(ms / 1000).toFixed(1)} s. ${state}`, screen.columns)].join('\n')
}

interface Line extends Pick<DoctorFinding, 'verdict' | 'message' | 'fix'> {
  /** Of the checks, without their group. */
  readonly names: readonly string[]
}

/** Checks of a group that are skipped for one reason are one line, where the first of them stands. */
function mergeSkipped(findings: readonly DoctorFinding[]): readonly Line[] {
  const lines = new Map<string, Line>()
  for (const finding of findings) {
    const { id, subject, verdict, fix } = finding
    const [, name = id] = id.split('.')
    const isAlone = findings.every(other => other === finding || other.id !== id)
    const message = nameSubject(finding, verdict === 'skipped' || (verdict === 'ok' && isAlone))
    const key = verdict === 'skipped' ? message : `${id} ${subject} ${message}`
    const before = lines.get(key)?.names ?? []
    lines.set(key, { verdict, message, fix, names: before.includes(name) ? before : [...before, name] })
  }
  return [...lines.values()]
}

/** The subject is said where the sentence does not say it already. */
function nameSubject({ subject, message }: DoctorFinding, isClear: boolean): string {
  return isClear || subject === '' || message.includes(subject) ? message : `${subject}: ${message}`
}

function formatLine({ names, verdict, message, fix }: Line, screen: Screen): readonly string[] {
  const text = `${names.join(', ')}: ${toTerminalLine(message)}`
  const isShown = fix !== undefined && verdict !== 'ok'
  return formatMarkedLine(
    { mark: marks[verdict], margin: 2, text, fix: isShown ? toTerminalLine(fix) : undefined },
    screen,
  )
}
