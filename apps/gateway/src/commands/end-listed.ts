import { toTerminalLine } from '../terminal/text.ts'
import type { ClientOpener } from './client.ts'
import type { Output } from './context.ts'

/** Ends one of what is listed for an agent, and says so. */
export async function endListed(
  openClient: ClientOpener,
  output: Output,
  {
    agent,
    list,
    id,
    said,
  }: { readonly agent: string; readonly list: string; readonly id: string; readonly said: string },
): Promise<void> {
  const client = await openClient()
  try {
    const path = `/operator/api/agents/${encodeURIComponent(agent)}/${list}/${encodeURIComponent(id)}`
    await client.request(path, { method: 'DELETE' })
    output.print(`${toTerminalLine(id)}: ${said}`)
  } finally {
    await client.close()
  }
}
