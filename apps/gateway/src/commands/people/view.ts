import type { Forgotten, PersonLink } from '@postern/core'
import { showPersonAddress } from '@postern/core'
import { channelModules } from '../../channels.ts'
import { formatTable } from '../../terminal/table.ts'
import { toTerminalLine } from '../../terminal/text.ts'
import type { ClientOpener } from '../client.ts'
import type { Output } from '../context.ts'

/** Which addresses are linked, and by which messages that was proven. */
export async function printPeople(openClient: ClientOpener, output: Output, agent: string | undefined): Promise<void> {
  const client = await openClient()
  try {
    const query = agent === undefined ? '' : `?${new URLSearchParams({ agent })}`
    const listed = (await client.request(`/operator/api/people${query}`)) as { links: readonly PersonLink[] }
    output.print(output.json ? JSON.stringify(listed, null, 2) : formatLinks(listed.links))
  } finally {
    await client.close()
  }
}

function formatLinks(links: readonly PersonLink[]): string {
  return formatTable(
    ['since', 'agent', 'asked from', 'confirmed', 'by'],
    links.map(({ since, agent, asker, target, asked, confirmed }) => [
      new Date(since).toISOString().slice(0, 19),
      agent,
      showPersonAddress(asker, channelModules),
      showPersonAddress(target, channelModules),
      `#${asked}, #${confirmed}`,
    ]),
  )
}

/** Deletes all there is of somebody who chats, by the key of what is theirs. */
export async function forgetOwner(openClient: ClientOpener, output: Output, owner: string): Promise<void> {
  const client = await openClient()
  try {
    const forgotten = await client.request('/operator/api/owners/forget', { method: 'POST', body: { owner } })
    const { runs, threads, attachments } = forgotten as Record<string, number>
    const told = `${toTerminalLine(owner)}: ${runs} runs, ${threads} threads and ${attachments} attachments are deleted`
    output.print(output.json ? JSON.stringify(forgotten, null, 2) : told)
  } finally {
    await client.close()
  }
}

/** Deletes all there is of somebody. */
export async function forgetPerson(
  openClient: ClientOpener,
  output: Output,
  request: { readonly address: string; readonly agent?: string | undefined },
): Promise<void> {
  const client = await openClient()
  try {
    const forgotten = (await client.request('/operator/api/people/forget', {
      method: 'POST',
      body: request,
    })) as Forgotten
    const { messages, links, relations } = forgotten
    const told = `${toTerminalLine(request.address)}: ${messages} messages, ${links} links and ${relations} relations are deleted`
    output.print(output.json ? JSON.stringify(forgotten, null, 2) : told)
  } finally {
    await client.close()
  }
}

/** Nothing of what was deleted is left in the files. */
export async function rewriteFiles(openClient: ClientOpener, output: Output): Promise<void> {
  const client = await openClient()
  try {
    await client.request('/operator/api/vacuum', { method: 'POST' })
    output.print('the database is written anew: nothing is left in it of what was deleted')
  } finally {
    await client.close()
  }
}
