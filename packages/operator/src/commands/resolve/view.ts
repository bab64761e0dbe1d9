// Prints what a peer finds at an address, with the faults and their fixes.
import { withClient } from '../../client/client.ts'
import type { ResolvedAddress } from '../../resolve/resolve-address.ts'
import type { ResolveFinding } from '../../resolve/rows/row.ts'
import type { Screen, Style } from '../../terminal/text.ts'
import { formatMarkedLine, paint, toTerminalLine } from '../../terminal/text.ts'
import type { ScreenOutput } from '../context.ts'
import { resolveOperation } from './route.ts'

const exitCodes: Readonly<Record<ResolvedAddress['outcome'], number>> = { ok: 0, faulty: 1, unresolved: 2 }

const marks: Readonly<Record<ResolveFinding['severity'], readonly [mark: string, style: Style]>> = {
  ok: ['✓', 'green'],
  warning: ['!', 'yellow'],
  error: ['✗', 'red'],
}

/** Prints the result; the exit code is 1 for faults and 2 if nothing was found. */
export async function printResolved(output: ScreenOutput, query: { readonly address: string }): Promise<void> {
  const resolvedAddress = await withClient(output, client => client.call(resolveOperation, { query }))
  if (output.json) output.print(JSON.stringify(resolvedAddress, null, 2))
  else output.printStyled(formatResolved(resolvedAddress, output))
  if (resolvedAddress.outcome !== 'ok') process.exitCode = exitCodes[resolvedAddress.outcome]
}

export function formatResolved({ asked, address, found, findings }: ResolvedAddress, screen: Screen): string {
  const locations = Object.entries(found).map(([name, url]) => `  ${name.padEnd(13)} ${toTerminalLine(url)}`)
  const width = Math.max(0, ...findings.map(({ id }) => id.length))
  return [
    paint(toTerminalLine(address ?? asked), 'bold', screen),
    ...locations,
    '',
    ...findings.flatMap(finding => formatFinding(finding, width, screen)),
  ].join('\n')
}

function formatFinding(
  { severity, id, section, message, fix }: ResolveFinding,
  width: number,
  screen: Screen,
): readonly string[] {
  const isRight = severity === 'ok'
  const text = toTerminalLine(isRight ? message : `${message} (${section})`)
  const line = { mark: marks[severity], margin: 0, label: id.padEnd(width), text }
  return formatMarkedLine({ ...line, fix: isRight || !fix ? undefined : toTerminalLine(fix) }, screen)
}
