import type { PersonLink } from '@postern/core'
import { showPersonAddress } from '@postern/core'
import { channelModules } from '../../channels.ts'
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { ApiOutput } from '../context.ts'
import { printAnswer, printList } from '../print-list.ts'
import { peopleOperations } from './route.ts'

/** Which addresses are linked, and by which messages that was proven. */
export function printPeople(output: ApiOutput, agent: string | undefined): Promise<void> {
  return printList(output, {
    readPage: (client, page) => client.call(peopleOperations.list, { query: { agent, ...page } }),
    format: formatLinks,
  })
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
export function forgetOwner(output: ApiOutput, owner: string): Promise<void> {
  return printAnswer(output, peopleOperations.forgetOwner, { body: { owner } }, ({ runs, threads, attachments }) => {
    return `${toTerminalLine(owner)}: ${runs} runs, ${threads} threads and ${attachments} attachments are deleted`
  })
}

/** Deletes all there is of somebody. */
export function forgetPerson(
  output: ApiOutput,
  request: { readonly address: string; readonly via?: string | undefined; readonly agent?: string | undefined },
): Promise<void> {
  return printAnswer(output, peopleOperations.forget, { body: request }, ({ messages, links, relations }) => {
    return `${toTerminalLine(request.address)}: ${messages} messages, ${links} links and ${relations} relations are deleted`
  })
}

/** Nothing of what was deleted is left in the files. */
export function rewriteFiles(output: ApiOutput): Promise<void> {
  const done = 'the database is written anew: nothing is left in it of what was deleted'
  return printAnswer(output, peopleOperations.vacuum, {}, () => done)
}
