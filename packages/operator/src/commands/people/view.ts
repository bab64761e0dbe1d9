// Prints linked addresses, and forgets people.
import type { UnreachableObject } from '@postern/message'
import { formatList, isoTime } from '@postern/message'
import type { PersonLink } from '@postern/pipeline'
import { showPersonAddress } from '@postern/pipeline'
import type { OperationInput } from '../../api/call.ts'
import { withClient } from '../../client/client.ts'
import { formatTable, toTerminalLine } from '../../terminal/text.ts'
import type { ApiOutput, CommandContext, ProgramChannels } from '../context.ts'
import type { CommandInput } from '../declare.ts'
import { createListView, createOperationView } from '../operation-view.ts'
import type { AgentOutcome } from './route.ts'
import { peopleOperations } from './route.ts'

interface ForgetOptions {
  readonly address: string
  readonly via?: string
  readonly agent?: string
  readonly leave_files?: boolean
}

export const peopleViews = {
  async list(output: ApiOutput, input: CommandInput, { loadChannels }: Pick<CommandContext, 'loadChannels'>) {
    const { list } = await loadChannels()
    await createListView(peopleOperations.list, links => formatLinks(links, list))(output, input)
  },
  forget: (output: ApiOutput, { address, leave_files, ...options }: ForgetOptions) =>
    address.startsWith('web:')
      ? forgetOwner(output, { owner: address, leave_files })
      : forgetPerson(output, { address, leave_files, ...options }),
  vacuum: createOperationView(peopleOperations.vacuum, () => 'rewrote the database: it holds no deleted data'),
}

function formatLinks(links: readonly PersonLink[], channels: ProgramChannels['list']): string {
  return formatTable(
    ['since', 'agent', 'asked from', 'confirmed', 'by'],
    links.map(({ since, agent, asker, target, asked, confirmed }) => [
      isoTime(since).slice(0, 19),
      agent,
      showPersonAddress(asker, channels),
      showPersonAddress(target, channels),
      `#${asked}, #${confirmed}`,
    ]),
  )
}

/** Deletes everything about a person who chats. */
export async function forgetOwner(output: ApiOutput, body: ForgetRequest<'forgetOwner'>): Promise<void> {
  const answer = await withClient(output, client => client.call(peopleOperations.forgetOwner, { body }))
  const { owner, links, runs, threads, attachments, records, unreachable, agents } = answer
  const counts = formatCounts({ link: links, run: runs, thread: threads, attachment: attachments, record: records })
  printForgotten(output, answer, { name: owner, counts, unreachable, agents })
}

/** Deletes everything about a person. */
export async function forgetPerson(output: ApiOutput, body: ForgetRequest<'forget'>): Promise<void> {
  const answer = await withClient(output, client => client.call(peopleOperations.forget, { body }))
  const { messages, links, relations, attachments, traces, unreachable, agents } = answer
  const counts = [
    ...formatCounts({ message: messages, link: links, relation: relations, attachment: attachments }),
    ...(traces > 0 ? [`${traces} other ${traces === 1 ? 'entry' : 'entries'}`] : []),
  ]
  printForgotten(output, answer, { name: body.address, counts, unreachable, agents })
}

type ForgetRequest<Name extends 'forget' | 'forgetOwner'> = OperationInput<(typeof peopleOperations)[Name]>['body']

/** Formats the counts that are not zero. */
function formatCounts(counts: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(counts).flatMap(([name, count]) =>
    count > 0 ? [`${count} ${name}${count > 1 ? 's' : ''}`] : [],
  )
}

interface ForgettingResult {
  readonly name: string
  readonly counts: readonly string[]
  readonly unreachable: readonly UnreachableObject[]
  readonly agents: readonly AgentOutcome[]
}

const remainingCopiesNote =
  'Other copies stay: the log of the gateway, your backups, copies on other servers, and messages of other people. Delete log and backups yourself.'

/** Prints the result. The exit code is 1 if nothing matched, or if files are left. */
function printForgotten(output: ApiOutput, answer: object, result: ForgettingResult): void {
  const { name, counts, unreachable, agents } = result
  const isNobody = counts.length === 0 && unreachable.length === 0
  if (isNobody || unreachable.length > 0) process.exitCode = 1
  if (output.json) {
    output.print(JSON.stringify(answer, null, 2))
    return
  }
  const deletionLines =
    counts.length > 0 ? [`${toTerminalLine(name)}: deleted ${formatList(counts)}.`, remainingCopiesNote] : []
  const unknownPersonLines = [
    `The gateway stores nothing of ${toTerminalLine(name)}, so it deleted nothing. List senders with: npx postern messages`,
  ]
  const personLines = isNobody ? unknownPersonLines : deletionLines
  output.print([...personLines, ...agents.map(describeOutcome), ...describeUnreachable(unreachable)].join('\n'))
}

function describeOutcome({ agent, has_forgotten, error }: AgentOutcome): string {
  if (has_forgotten) return `The agent ${agent} has forgotten them, too.`
  const reason = toTerminalLine(error ?? 'it has not answered yet')
  return `The agent ${agent} has not forgotten them yet, and the gateway calls it again: ${reason}`
}

function describeUnreachable(files: readonly UnreachableObject[]): readonly string[] {
  if (files.length === 0) return []
  const owners = [...new Set(files.map(({ owner }) => owner))]
  return [
    `Not deleted: ${formatCounts({ file: files.length })} in a storage that the gateway no longer uses.`,
    ...files.map(({ bucket, path, storage }) => toTerminalLine(`  ${storage ?? 'unknown storage'}: ${bucket}/${path}`)),
    'Configure that storage again, or delete the files there. Then run the command again, with --leave-files if you deleted them:',
    ...owners.map(owner => toTerminalLine(`  npx postern forget '${owner}'`)),
  ]
}
