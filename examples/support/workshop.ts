// The workshop takes bicycles, tells people when theirs is ready, answers programs with JSON, and posts news each week.
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentContext, NormalizedMessage } from 'postern'
import { defineAgent, json, readMessageText } from 'postern'
import { openShop } from './shop.ts'

const mechanics = {
  method: 'urn:mentionable:auth:email-dmarc:v0.1',
  issuer: process.env.SHOP_DOMAIN ?? 'shop.example',
}
const shop = openShop()
const hourMs = 3_600_000

export default defineAgent({
  async start(publisher) {
    while (!publisher.signal.aborted) {
      if (shop.isNewWeek(nameWeek(new Date()))) await publisher.post('This week the workshop is open until seven.')
      await sleep(hourMs, undefined, { signal: publisher.signal }).catch(() => undefined)
    }
  },

  handle(message, context) {
    if (context.identity.has(mechanics)) return work(readMessageText(message), context)
    return message.received_via === 'a2a' ? answerProgram(message) : takeBicycle(message, context)
  },

  forget: ({ person, threads }) => shop.forgetOwner(person, threads),
  close: () => shop.close(),
})

/** Answers a program that asks for itself, or for the person whom another agent of ours answers. */
function answerProgram({ sender, on_behalf_of: asker = sender }: NormalizedMessage) {
  return { parts: [json({ repairs: asker.verified ? shop.listRepairs(asker.address) : [] }, 'repairs.json')] }
}

async function takeBicycle(message: NormalizedMessage, { person, messageNumber, attachment }: AgentContext) {
  if (!person || messageNumber === undefined) return 'I cannot see who you are. Please prove your address.'
  const file = message.parts.filter(part => part.kind === 'file').find(({ mime }) => mime?.startsWith('image/'))
  const { number } = shop.bringBicycle({
    message: messageNumber,
    person: person.id,
    address: message.sender.address,
    thread: message.thread_id,
    wish: readMessageText(message),
    photo: file ? (await attachment(file)).bytes : null,
  })
  return `Your bicycle is repair ${number}. I write when it is ready.`
}

/** Accepts the commands of a mechanic, `photo 3` or `ready 3`. */
async function work(text: string, { messageNumber = 0, reply }: AgentContext) {
  const [, command, number] = /^(ready|photo) (\d+)/i.exec(text.trim()) ?? []
  if (command === 'photo') return showPhoto(Number(number))
  const repair = command ? shop.endRepair(Number(number), messageNumber) : undefined
  if (!repair) return 'Please write "photo" or "ready", and the number of a repair that waits.'
  // The gateway sends this message together with the answer, or not at all.
  const result = await reply(repair.thread, `Your bicycle is ready (repair ${repair.number}).`)
  return typeof result === 'string' ? 'The owner knows.' : `The owner does not know. ${result}`
}

function showPhoto(number: number) {
  const photo = shop.findRepair(number)?.photo
  if (!photo) return 'There is no photo.'
  const bytes_ref = { kind: 'inline', data_base64: Buffer.from(photo).toString('base64') } as const
  return { parts: [{ kind: 'file', name: `repair-${number}.jpg`, mime: 'image/jpeg', bytes_ref } as const] }
}

/** Names a week by the date of its Monday. */
function nameWeek(day: Date): string {
  const monday = new Date(day)
  monday.setUTCDate(day.getUTCDate() - ((day.getUTCDay() + 6) % 7))
  return monday.toISOString().slice(0, 10)
}
