import type { Addressing, AgentDirectory, AnsweredTurn, NormalizedResponse, PlannedDelivery } from '@postern/core'
import { hasRequirements } from '@postern/core'
import { formatMailbox, parseMailbox } from '../../addresses/mailbox.ts'
import { findRecipient } from '../../addresses/recipients.ts'
import { replyAlias } from '../../tokens/address-tokens.ts'
import type { MailTarget } from './target.ts'
import { packTarget, readTarget } from './target.ts'

/** Further recipients an agent may name. */
const maxMentions = 20

interface MailDepsRules {
  readonly agents: AgentDirectory
  /** Agents that may pass a message on to each other. */
  readonly maxHops: number
}

/**
 * One delivery for each envelope recipient, all of the same message, so that each is retried and refused on its own.
 * People whom the answer mentions are in To. Agents of this gateway are shown in Cc and get the answer here, without
 * mail; on the final hop of a chain they do not (MN-8.3). An automatic reply gets no answer.
 */
export function addressMail({ turn, response }: AnsweredTurn, { agents, maxHops }: MailDepsRules): Addressing {
  const target = readTarget(turn.target)
  if (target.is_silent) return { deliveries: [], aliases: [] }
  // Requirements that only the sender may decide go to nobody else.
  if (hasRequirements(response.parts)) return addressOne(target, response, agents)
  const mentioned = readMentions(response.mentions ?? [], { self: turn.agent, target, agents })
  const isFinal = target.hop !== undefined && target.hop >= (target.max_hops ?? maxHops)
  const localAgents = isFinal ? [] : mentioned.localAgents
  const cc = [...new Set([...(target.others ?? []), ...localAgents.map(({ address }) => address)])]
  const shown = { also_to: mentioned.people, cc }
  const plan = (recipient: string, localAgent?: string): PlannedDelivery => ({
    to: recipient,
    target: packTarget({ ...target, recipient, ...shown, ...(localAgent && { localAgent }) }),
  })
  const people = new Set([target.mailbox, ...(target.others ?? []), ...mentioned.people])
  return {
    deliveries: [
      ...[...people].map(recipient => plan(recipient)),
      ...localAgents.map(({ address, agent }) => plan(address, agent)),
    ],
    aliases: [`${response.id}@${agents.domain}`, replyAlias(response.id)],
  }
}

function addressOne(target: MailTarget, { id }: NormalizedResponse, agents: AgentDirectory): Addressing {
  const { mailbox } = target
  return {
    deliveries: [{ to: mailbox, target: packTarget({ ...target, recipient: mailbox, cc: [], others: [] }) }],
    aliases: [`${id}@${agents.domain}`, replyAlias(id)],
  }
}

interface Mentioning {
  readonly self: string
  readonly target: MailTarget
  readonly agents: AgentDirectory
}

/**
 * People whom the answer mentions besides those it reaches anyway. People may have addresses at the domain of the
 * agents, too.
 */
function readMentions(mentions: readonly string[], { self, target, agents }: Mentioning) {
  const known = new Set([target.mailbox, ...(target.others ?? [])])
  const mailboxes = mentions.flatMap(text => parseMailbox(text.replace(/^@/, '')) ?? [])
  const addresses = [...new Set(mailboxes.map(formatMailbox))].filter(address => !known.has(address))
  const ours = addresses.flatMap(address => findRecipient(address, agents)?.agent ?? []).filter(agent => agent !== self)
  return {
    people: addresses.filter(address => !findRecipient(address, agents)).slice(0, maxMentions),
    localAgents: [...new Set(ours)]
      .slice(0, maxMentions)
      .map(agent => ({ agent, address: `${agent}@${agents.domain}` })),
  }
}
