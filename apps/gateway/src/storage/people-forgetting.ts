// Forgets people, and forgets them again when an older backup of the store is restored.
import { join } from 'node:path'
import type { Log } from '@postern/message'
import type { ForgottenOwner, PersonForgetting, WithCalls } from '@postern/operator'
import type { ForgetPersonRequest, ForgetPersonResult, PersonAddress, PersonMessagesRequest } from '@postern/pipeline'
import type { GatewayStore } from '@postern/store'
import type { AgentForgetting } from './agent-forgetting.ts'
import type { ForgottenBy, ForgottenLine } from './forgotten-list.ts'
import { openForgottenList } from './forgotten-list.ts'

const fileName = 'forgotten'
/** The records of the list's lines that this store has applied. */
const [kind, listOwner] = ['forgotten-line', 'list']

/** The time after which the gateway retries to record applied lines, ms. */
const retryMs = 10_000

export interface PeopleForgetting extends PersonForgetting {
  /** Forgets the people of the list whom this store still knows again. Returns their number. */
  applyList(): Promise<number>
}

interface ForgettingDeps {
  readonly store: Omit<GatewayStore, 'forOperators'>
  /** The data folder. */
  readonly directory: string
  readonly log: Log
  /** The calls of agents. Absent if no agent has memories of its own. */
  readonly agents?: Pick<AgentForgetting, 'plan'> | undefined
}

export function createPeopleForgetting(deps: ForgettingDeps): PeopleForgetting {
  const { store, directory, log } = deps
  const openList = () => openForgottenList(join(directory, fileName))

  /** Adds a line to the list. A failure does not stop the forgetting, because a full disk needs the deletion most. */
  function addLine(names: readonly string[], forgottenBy: ForgottenBy): readonly ForgottenLine[] {
    const notedLines: ForgottenLine[] = []
    try {
      const list = openList()
      const line = list.createLine(names, forgottenBy)
      // The line counts even before it is written, because a line whose flush failed may be on disk.
      notedLines.push(...list.listCoveredLines(names, forgottenBy), line)
      list.append(line)
    } catch (error) {
      log.error(
        { err: error },
        'cannot write the list of forgotten people; after a restore of an older backup, forget them again',
      )
    }
    return notedLines
  }

  /** Records lines as applied. At the next start, a pending line would also delete messages that its people have sent since. */
  async function recordAppliedLines(lines: readonly ForgottenLine[]): Promise<void> {
    try {
      for (const { id } of await findPendingLines(store, lines)) {
        await store.records.insert({ kind, owner: listOwner, key: id }, true)
      }
    } catch (error) {
      log.error({ err: error }, 'cannot record that people are forgotten; the gateway retries')
      setTimeout(() => void recordAppliedLines(lines), retryMs).unref()
    }
  }

  async function forgetAndList<T>(names: readonly string[], forgottenBy: ForgottenBy, forget: () => Promise<T>) {
    const notedLines = addLine(names, forgottenBy)
    const result = await forget()
    await recordAppliedLines(notedLines)
    return result
  }

  return {
    forgetPerson: forgetting =>
      forgetAndList(forgetting.addresses.flatMap(formatAddressKeys), forgetting, () =>
        forgetPersonAndCallAgents(forgetting, deps),
      ),
    forgetOwner: (owner, leavesBytes) =>
      forgetAndList([formatOwnerKey(owner)], {}, () => removeOwner(owner, { leavesBytes }, deps)),
    async applyList() {
      const list = openList()
      if (list.unreadableCount > 0) log.warn({ lines: list.unreadableCount }, unreadableWarning)
      const pendingLines = await findPendingLines(store, list.lines)
      if (pendingLines.length === 0) return 0
      const count = await forgetListedPeople(deps, list.createFinder(pendingLines))
      await recordAppliedLines(pendingLines)
      log.warn({ lines: pendingLines.length, people: count }, 'forgot people again whom this store still knew')
      return count
    },
  }
}

const unreadableWarning =
  'some lines of the list of forgotten people cannot be read; after a restore of an older backup, forget those people again'

async function findPendingLines(
  { records }: Pick<GatewayStore, 'records'>,
  lines: readonly ForgottenLine[],
): Promise<readonly ForgottenLine[]> {
  const appliedIds = new Set((await records.list(kind, listOwner)).map(({ key }) => key))
  return lines.filter(({ id }) => !appliedIds.has(id))
}

type FindLines = (names: readonly string[]) => readonly ForgottenLine[]

/** Plans the calls of agents before the gateway forgets the person, because it does not know the person afterwards. */
async function planCallsAndForget<Result>(
  request: PersonMessagesRequest,
  agents: ForgettingDeps['agents'],
  forget: () => Promise<Result>,
): Promise<WithCalls<Result>> {
  const calls = (await agents?.plan(request)) ?? []
  return { ...(await forget()), calls }
}

function forgetPersonAndCallAgents(
  forgetting: ForgetPersonRequest,
  { store, agents }: ForgettingDeps,
): Promise<WithCalls<ForgetPersonResult>> {
  return planCallsAndForget(forgetting, agents, () => store.forgetPerson(forgetting))
}

async function forgetListedPeople(deps: ForgettingDeps, findLines: FindLines): Promise<number> {
  const { store } = deps
  const forgottenKeys = new Set<string>()
  const forgetListed = async (person: PersonAddress & { readonly agent?: string | undefined }) => {
    for (const forgetting of findForgettings(person, findLines)) {
      await forgetPersonAndCallAgents(forgetting, deps)
      forgottenKeys.add(`${person.via} ${person.address}`)
    }
  }
  const otherPeople = await store.readOtherPeople()
  for (const owner of otherPeople.owners) {
    if (findLines([formatOwnerKey(owner)]).length === 0) continue
    await removeOwner(owner, { leavesBytes: false }, deps)
    forgottenKeys.add(owner)
  }
  for (const person of otherPeople.persons) await forgetListed(person)
  for (let lastSender = 0; ; ) {
    const senders = await store.readSenders(lastSender)
    if (!senders) return forgottenKeys.size
    for (const person of senders.persons) await forgetListed(person)
    lastSender = senders.lastNumber
  }
}

/** Lists the forgettings of a person by address and by principal, because the address alone may belong to somebody else by now. */
function findForgettings(
  { via, address, subject, agent }: PersonAddress & { readonly agent?: string | undefined },
  findLines: FindLines,
): readonly ForgetPersonRequest[] {
  const addressOnly = { via, address }
  const withSubject = subject === undefined ? [] : [{ ...addressOnly, subject }]
  return [addressOnly, ...withSubject].flatMap(personAddress => {
    const lines = findLines(formatAddressKeys(personAddress)).filter(
      line => line.agent === undefined || agent === undefined || line.agent === agent,
    )
    // A person may have asked several times.
    const linesByRequest = Map.groupBy(lines, ({ agent: forgetfulAgent, isOwn = false }) =>
      JSON.stringify([forgetfulAgent ?? null, isOwn]),
    )
    return [...linesByRequest.values()].flatMap(([line]) =>
      line ? [{ agent: line.agent, isOwn: line.isOwn ?? false, addresses: [personAddress] }] : [],
    )
  })
}

function formatAddressKeys({ via, address, subject }: PersonAddress): readonly string[] {
  return [JSON.stringify(subject === undefined ? ['address', via, address.toLowerCase()] : ['subject', via, subject])]
}

function formatOwnerKey(owner: string): string {
  return JSON.stringify(['owner', owner])
}

interface OwnerRemovalOptions {
  /** True if the bytes of the owner's attachments stay in the object storage. */
  readonly leavesBytes: boolean
}

function removeOwner(
  owner: string,
  options: OwnerRemovalOptions,
  { store, agents }: ForgettingDeps,
): Promise<WithCalls<ForgottenOwner>> {
  return planCallsAndForget({ addresses: [], owner }, agents, () => removeOwnedData(owner, options, store))
}

async function removeOwnedData(
  owner: string,
  { leavesBytes }: OwnerRemovalOptions,
  { forgetTasks, unlinkAll, transcript, objects, records }: ForgettingDeps['store'],
): Promise<ForgottenOwner> {
  const links = await unlinkAll(owner)
  const runs = await forgetTasks(owner)
  const threads = await transcript.forgetOwner(owner)
  const { removed: attachments, unreachable } = await objects.removeObjects(owner, { leavesBytes })
  return { links, runs, threads, attachments, records: await records.removeOwner(owner), unreachable }
}
