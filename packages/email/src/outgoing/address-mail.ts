// Plans the deliveries of a response: one for each recipient.
import type { NormalizedResponse } from '@postern/message'
import { hasRequirements } from '@postern/message'
import type { Addressing, AgentDirectory, AnsweredTurn, PlannedDelivery } from '@postern/pipeline'
import { formatMailbox, parseMailbox } from '../mail/mailbox.ts'
import { findRecipient } from '../mail/recipients.ts'
import { replyAlias } from '../tokens/address-tokens.ts'
import type { MailTarget } from './target.ts'
import { packTarget, readTarget } from './target.ts'

/** The maximum number of people, and of local agents, that a response may mention. */
const maxMentions = 20

/**
 * Plans one delivery of the same message for each envelope recipient, so that each delivery is retried and refused on
 * its own. People whom the response mentions are in To. Local agents are in Cc and get the response without mail,
 * except on the final hop of a chain (MN-8.3). An automatic reply gets no response. `maxHops` is the maximum number of
 * agents in a chain.
 */
export function addressMail({ turn, response }: AnsweredTurn, agents: AgentDirectory, maxHops: number): Addressing {
  const target = readTarget(turn.target)
  if (target.is_silent) return { deliveries: [], aliases: [] }
  // Only the sender may decide on requirements, so the response goes to nobody else.
  if (hasRequirements(response.parts)) return addressReplyMailbox(target, response, agents)
  const mentions = readMentions({ turn, response }, target, agents)
  const isFinal = target.hop !== undefined && target.hop >= (target.max_hops ?? maxHops)
  const localAgents = isFinal ? [] : mentions.localAgents
  const cc = [...new Set([...(target.others ?? []), ...localAgents.map(({ address }) => address)])]
  const shownRecipients = { also_to: mentions.people, cc }
  const planDelivery = (recipient: string, localAgent?: string): PlannedDelivery => ({
    to: recipient,
    target: packTarget({ ...target, recipient, ...shownRecipients, ...(localAgent && { localAgent }) }),
  })
  const people = new Set([target.mailbox, ...(target.others ?? []), ...mentions.people])
  return {
    deliveries: [
      ...[...people].map(recipient => planDelivery(recipient)),
      ...localAgents.map(({ address, agent }) => planDelivery(address, agent)),
    ],
    aliases: [`${response.id}@${agents.domain}`, replyAlias(response.id)],
  }
}

function addressReplyMailbox(target: MailTarget, { id }: NormalizedResponse, agents: AgentDirectory): Addressing {
  const { mailbox } = target
  return {
    deliveries: [{ to: mailbox, target: packTarget({ ...target, recipient: mailbox, cc: [], others: [] }) }],
    aliases: [`${id}@${agents.domain}`, replyAlias(id)],
  }
}

/**
 * Reads the people whom the response mentions besides its other recipients. People may also have addresses at the
 * domain of the agents.
 */
function readMentions({ turn, response }: AnsweredTurn, target: MailTarget, agents: AgentDirectory) {
  const addressees = new Set([target.mailbox, ...(target.others ?? [])])
  const mailboxes = (response.mentions ?? []).flatMap(text => parseMailbox(text.replace(/^@/, '')) ?? [])
  const addresses = [...new Set(mailboxes.map(formatMailbox))].filter(address => !addressees.has(address))
  const localAgents = addresses
    .flatMap(address => findRecipient(address, agents)?.agent ?? [])
    .filter(agent => agent !== turn.agent)
  return {
    people: addresses.filter(address => !findRecipient(address, agents)).slice(0, maxMentions),
    localAgents: [...new Set(localAgents)]
      .slice(0, maxMentions)
      .map(agent => ({ agent, address: `${agent}@${agents.domain}` })),
  }
}
