// Opens a gateway with records for every operation of the operator API.
import type { DeliveryRecord, Relation } from '@postern/pipeline'
import { eventually } from '../setup/gateway.ts'
import type { OperatorGateway } from '../setup/operator-gateway.ts'
import { openOperatorGateway } from '../setup/operator-gateway.ts'
import { describeSwarm } from '../setup/swarm-gateway.ts'

/** The records that exist when the operations are called. */
export interface CalledRecords {
  /** The number of a message that was answered. */
  readonly message: string
  /** The id of its delivery. */
  readonly delivery: string
  /** The id of a requirement that waits for an operator. */
  readonly requirement: string
  /** The id of a requirement that was granted, and whose turn then failed. */
  readonly failedRequirement: string
  /** The ids of two dead deliveries: the peer permanently refused a post and a mail. */
  readonly dead: { readonly post: string; readonly mail: string }
  /** The id of a decision that `shop` remembers. */
  readonly approval: string
  /** The accounts that ask to follow `desk`. */
  readonly followers: readonly [string, string]
  /** The address that `shop` may send nothing more to. */
  readonly suppressed: string
  /** The id of a question that `strict` asks a human. */
  readonly question: string
  /** The id of a ban of `strict`. */
  readonly ban: string
}

interface CalledGateway {
  readonly setup: OperatorGateway
  readonly records: CalledRecords
}

/** Opens a gateway in which real traffic has left something for each operation to act on. */
export async function openCalledGateway(): Promise<CalledGateway> {
  const setup = await openOperatorGateway({
    settings: { activitypub: { follows: 'manual' } },
    agents: ({ base_url }) => ({
      failing: { use: '../agents/asking/failing-refund.ts' },
      strict: {
        ...describeSwarm(String(base_url), { human: { operator: true, timeout: '10m' } }),
        deadline: '11m',
        policies: { polite: { refuse_output: ['help'], message: 'That I may not say.', bans: true } },
      },
    }),
  })
  try {
    return { setup, records: await makeRecords(setup) }
  } catch (error) {
    await setup.close()
    throw error
  }
}

async function makeRecords(setup: OperatorGateway): Promise<CalledRecords> {
  const { fediverse, mail } = setup.swarm.gateway.simulation
  const { swarm } = setup
  const sendMail = (agent: string, from: string, text: string) =>
    fediverse.deliver({ to: `@${agent}@agents.test`, from, text, visibility: 'direct' })
  const awaitFirst = <Item>(path: string) =>
    eventually(async () => (await swarm.requestOperator<{ items: readonly Item[] }>(path)).items[0])

  // The refused mail comes first, because later steps send mail to an operator, and the simulation refuses the next mail.
  const suppressed = 'gone@alice.test'
  const endRefusal = mail.refuse({ code: 550, message: '5.1.1 no such user', at: 'rcpt', times: 1 })
  await mail.deliver({ from: suppressed, to: 'shop@agents.test', text: 'Hello' })
  const deadMail = await awaitFirst<DeliveryRecord>('/deliveries?state=dead&channel=email')
  await awaitFirst<Relation>('/suppressions?agent=shop')
  endRefusal()

  const endGone = fediverse.disturb('gotosocial.test', { method: 'POST', answer: { status: 410 } })
  await sendMail('shop', 'alice@gotosocial.test', 'Hello')
  const deadPost = await awaitFirst<DeliveryRecord>('/deliveries?state=dead&channel=activitypub')
  endGone()

  const remembered = await setup.askForRefund('shop')
  await setup.decide(remembered.requirement.id, { outcome: 'granted', remember: 'always' })
  const approval = await awaitFirst<{ readonly id: string }>('/agents/shop/approvals')

  for (const from of ['alice@mastodon.test', 'bob@mastodon.test']) {
    await fediverse.send({ to: '@desk@agents.test', type: 'Follow', from })
  }
  const [alice, bob] = await eventually(async () => {
    const { items } = await swarm.requestOperator<{ items: readonly Relation[] }>('/relations?relation=pending')
    return items.length === 2 && items.map(({ peer }) => peer)
  })

  await sendMail('strict', 'alice@rfc9421.test', 'Good morning')
  const ban = await awaitFirst<{ readonly id: string }>('/agents/strict/bans')
  await sendMail('strict', 'bob@mastodon.test', 'Let me talk to somebody')
  const question = await awaitFirst<{ readonly id: string }>('/questions')

  await sendMail('failing', 'alice@rfc9421.test', 'My money back')
  const failedRecord = await awaitFirst<{ readonly id: string }>('/requirements?agent=failing')
  await setup.decide(failedRecord.id, { outcome: 'granted' })
  await awaitFirst('/messages?agent=failing&state=failed')

  const { requirement } = await setup.askForRefund('desk')
  const [newest] = await swarm.gateway.messages()
  const delivery = (await swarm.gateway.deliveries()).find(record => record.message_id === newest?.id)
  if (!newest || !delivery) throw new Error('the newest message has no answer')

  return {
    message: String(newest.message),
    delivery: delivery.id,
    requirement: requirement.id,
    failedRequirement: failedRecord.id,
    dead: { post: deadPost.id, mail: deadMail.id },
    approval: approval.id,
    followers: [alice ?? '', bob ?? ''],
    suppressed,
    question: question.id,
    ban: ban.id,
  }
}
