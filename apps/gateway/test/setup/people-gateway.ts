// Opens a gateway for people with several linked addresses.
import { join } from 'node:path'
import type { TestGateway } from './gateway.ts'
import { eventually, openTestGateway } from './gateway.ts'

interface Confided {
  readonly past: readonly string[]
  readonly storedTexts: readonly string[]
  readonly knows: readonly string[]
}

const confidant = join(import.meta.dirname, '../agents/people/confidant.ts')

export type PeopleTestGateway = Awaited<ReturnType<typeof openPeopleGateway>>

/** Opens a gateway with an agent that shares everything, one that shares nothing and one that links nobody, with helpers to write to them. */
export async function openPeopleGateway(overrides: Record<string, unknown> = {}) {
  const gateway: TestGateway = await openTestGateway(() => ({
    agents: {
      desk: { use: confidant, people: { link: true, share: 'history+state' } },
      quiet: { use: confidant, people: { link: true } },
      plain: { use: confidant },
    },
    ...overrides,
  }))
  const { fediverse, mail } = gateway.simulation

  async function askByPost(
    text: string,
    { from = 'alice@mastodon.test', to = 'desk', inReplyTo, visibility = 'direct' }: WriteOptions = {},
  ) {
    const receipt = await fediverse.deliver({ to: `${to}@agents.test`, text, from, inReplyTo, visibility })
    const { activity } = await fediverse.awaitReply(receipt.objectId, 30_000)
    const { content, id, to: audience } = activity.object as { content: string; id: string; to: string[] }
    return { text: toText(content), thread: id, audience, id: receipt.activityId }
  }

  async function askByMail(
    text: string,
    { from = 'alice@alice.test', to = 'desk', inReplyTo, ...mailOptions }: WriteOptions = {},
  ) {
    const plan = { to: `${to}@agents.test`, text, from, subject: 'hello', inReplyTo, ...mailOptions }
    const receipt = await mail.deliver(plan)
    const receivedMail = await mail.awaitReply(receipt.mail.messageId, 30_000)
    return { text: (receivedMail.text ?? '').trim(), thread: receivedMail.messageId, id: receipt.mail.messageId }
  }

  return {
    gateway,
    askByPost,
    askByMail,
    /** Waits for `count` codes in mails to a person, and returns the newest one. */
    mailedCode: async (to: string, count = 1) =>
      eventually(async () => {
        const mails = gateway.simulation.mail.received.filter(
          ({ envelope, text }) => envelope.to.includes(to) && codeOf(text ?? ''),
        )
        return mails.length >= count && codeOf(mails.at(-1)?.text ?? '')
      }),
    /** Waits for `count` codes in posts to a person, and returns the newest one. */
    postedCode: async (to: string, count = 1) =>
      eventually(async () => {
        const activities = fediverse.received.filter(({ activity, verified }) => {
          const note = activity.object as { content?: string; to?: string[] } | undefined
          return verified && note?.to?.includes(to) && codeOf(toText(note.content ?? ''))
        })
        const lastActivity = activities.at(-1)?.activity.object as { content: string } | undefined
        return activities.length >= count && lastActivity && codeOf(toText(lastActivity.content))
      }),
    codesTo: (to: string) =>
      gateway.simulation.mail.received.filter(({ envelope, text }) => envelope.to.includes(to) && codeOf(text ?? ''))
        .length,
    async linkMail(address = 'alice@alice.test', options: WriteOptions = {}) {
      const countBefore = gateway.simulation.mail.received.filter(
        ({ envelope, text }) => envelope.to.includes(address) && codeOf(text ?? ''),
      ).length
      const linkMessage = await askByPost(`link ${address}`, options)
      const code = await this.mailedCode(address, countBefore + 1)
      return { asked: linkMessage, code, confirmed: await askByPost(`confirm ${code}`, options) }
    },
    close: () => gateway.close(),
  }
}

interface WriteOptions {
  readonly from?: string
  readonly to?: string
  readonly inReplyTo?: string | undefined
  readonly visibility?: 'public' | 'direct' | 'followers'
  readonly sign?: boolean
  readonly headers?: Readonly<Record<string, string>>
  readonly subject?: string
  readonly signedFields?: readonly string[]
  readonly envelopeFrom?: string
  readonly date?: Date
}

export const codeOf = (text: string) => /\b[2-9A-HJ-NP-Z]{5}-[2-9A-HJ-NP-Z]{5}\b/.exec(text)?.[0]

export const readConfided = (text: string): Confided => JSON.parse(text.slice(text.indexOf('{'))) as Confided

function toText(html: string): string {
  return html
    .replace(/<br\s*\/?>|<\/p>/g, '\n')
    .replace(/<[^>]+>/g, '')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&')
    .trim()
}
