import type { Channel } from '../ports/channel.ts'
import type { LinkRefusal, PersonAddress } from '../ports/records/people.ts'
import { linkLimits } from '../ports/records/people.ts'
import { findRules, showPersonAddress } from './person-identity.ts'

const minutes = linkLimits.codeMs / 60_000

/** What the gateway says in an agent's name. Nothing in it is anybody's free text. */
export const personTexts = {
  inPrivate: () => 'Ask me this in a direct message, where nobody else reads along.',
  nobody: () => 'I find nobody at that address, or its server does not answer now.',
  own: () => 'You are writing from that address already.',
  agent: () => 'That is the address of an agent, not of a person.',
  fromChat: () => 'Nothing can be sent to a chat. Ask there: write "link" and this address in the chat.',
  noWay: () => 'I have no way to send a code there.',
  wrong: (left: number) =>
    left > 0
      ? `That is not the code, or its time is over. ${left} more ${left === 1 ? 'try' : 'tries'}.`
      : 'That is not the code, and there are no more tries. Ask for another one with "link".',
  none: () => 'There is no code to wait for. Ask for one with "link" and the other address.',
  notLinked: () => 'That address is not linked with this one.',
  forgotten: (messages: number) =>
    `Done: what you wrote to me and what I answered is deleted (${messages} ${messages === 1 ? 'message' : 'messages'}), and so is every link. Only this last exchange is left.`,
} as const

/** Texts that show addresses, each as people write it on its channel. */
export function createPersonTexts(channels: readonly Pick<Channel, 'descriptor'>[]) {
  const show = (address: PersonAddress) => showPersonAddress(address, channels)
  return {
    noAddress() {
      const examples = channels.flatMap(({ descriptor }) => descriptor.speaker.addressExample ?? [])
      const commands = examples.map(({ address, means }) => `"link ${address}" for ${means}`)
      return `This is no address I can link. Write ${commands.join(', ')}.`
    },
    sent: (target: PersonAddress) =>
      `I have sent a code to ${show(target)}. Write it to me here within ${minutes} minutes: "confirm" and the code.`,
    notice(asker: PersonAddress, agent: string, code: string) {
      const isChat = findRules(channels, asker.via)?.isChat === true
      const where = isChat ? 'write this in the chat where you asked,' : `send this to the agent from ${show(asker)}`
      return [
        `${show(asker)} says that this address belongs to the same person, and asks the agent ${agent} to link both.`,
        `If that was you, ${where} within ${minutes} minutes:`,
        `confirm ${code}`,
        'If it was not you, do nothing, and give the code to nobody: without it nothing happens.',
      ].join('\n\n')
    },
    linkedNotice: (asker: PersonAddress, agent: string) =>
      `This address is now linked with ${show(asker)} for the agent ${agent}. If that was not you, send it "unlink ${show(asker)}" from here: somebody has read the code that was sent to you.`,
    linked: (target: PersonAddress) =>
      `Done: ${show(target)} is linked with this address. "linked" lists all, "unlink ${show(target)}" undoes it.`,
    unlinked: (other: PersonAddress) => `Done: ${show(other)} is not linked with this address any more.`,
    list: (others: readonly PersonAddress[]) =>
      others.length === 0
        ? 'No other address is linked with this one.'
        : `Linked with this address: ${others.map(show).join(', ')}.`,
  }
}

export const refusalTexts: Readonly<Record<LinkRefusal, string>> = {
  linked: 'That address is linked with this one already.',
  full: `No person has more than ${linkLimits.addresses} addresses here.`,
  asked_too_often: 'You have asked for many codes. Try again later.',
  sent_too_often: 'Many codes have gone to that address. Try again tomorrow.',
}
