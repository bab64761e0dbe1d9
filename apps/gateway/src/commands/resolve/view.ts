import type { ResolvedAddress } from '../../resolve/resolve-address.ts'
import type { ResolveFinding } from '../../resolve/rows/row.ts'
import { toTerminalLine } from '../../terminal/text.ts'
import type { ClientOpener } from '../client.ts'
import type { Output } from '../context.ts'
import { resolveOperations } from './operations.ts'

const exitCodes: Readonly<Record<ResolvedAddress['outcome'], number>> = { ok: 0, faulty: 1, unresolved: 2 }
const marks: Readonly<Record<ResolveFinding['severity'], string>> = { ok: '✓', warning: '!', error: '✗' }

/** Prints what a peer would find behind an address; the exit code tells how it came out. */
export async function printResolved(openClient: ClientOpener, output: Output, address: string): Promise<void> {
  const client = await openClient()
  try {
    const resolved = await client.call(resolveOperations.resolve, { query: { address } })
    output.print(output.json ? JSON.stringify(resolved, null, 2) : formatResolved(resolved))
    if (resolved.outcome !== 'ok') process.exitCode = exitCodes[resolved.outcome]
  } finally {
    await client.close()
  }
}

export function formatResolved({ asked, address, found, findings }: ResolvedAddress): string {
  const places = Object.entries(found).map(([name, place]) => `  ${name.padEnd(13)} ${toTerminalLine(place)}`)
  const width = Math.max(0, ...findings.map(({ id }) => id.length))
  return [
    toTerminalLine(address ?? asked),
    ...places,
    '',
    ...findings.flatMap(finding => formatFinding(finding, width)),
  ].join('\n')
}

function formatFinding({ severity, id, section, message, fix }: ResolveFinding, width: number): readonly string[] {
  const indent = ' '.repeat(width + 3)
  const line = `${marks[severity]} ${id.padEnd(width)} ${toTerminalLine(message)}`
  return severity === 'ok' ? [line] : [`${line} (${section})`, ...(fix ? [`${indent}→ ${toTerminalLine(fix)}`] : [])]
}
