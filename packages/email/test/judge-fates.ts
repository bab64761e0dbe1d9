import { readdirSync, readFileSync } from 'node:fs'
import type { MailHouse } from './house.ts'
import { domain } from './house.ts'

/** What became of a mail at the door. */
export interface Fate {
  readonly file: string
  /** `refused`: with a code; `kept`: with flags; `answered`: the agent would get a turn. */
  readonly fate: 'refused' | 'kept' | 'answered'
  readonly why: readonly string[]
}

/** Every mail of a folder, in the order of their names. */
export async function judgeFates(house: MailHouse, folder: URL): Promise<readonly Fate[]> {
  const names = readdirSync(folder).filter(name => name.endsWith('.eml'))
  const fates: Fate[] = []
  for (const name of names.sort())
    fates.push(await judgeFate(house, name, readFileSync(new URL(name, folder), 'latin1')))
  return fates
}

/** Through the door as an MTA would bring it: without the line mbox files begin with, MAIL FROM as the last hop wrote it down. */
async function judgeFate(house: MailHouse, file: string, mail: string): Promise<Fate> {
  const octets = Buffer.from(mail.replace(/^From .*\r?\n/, ''), 'latin1')
  const from = /^Return-Path:\s*<?([^<>\s]*)>?/im.exec(octets.toString('latin1').split(/\r?\n\r?\n/, 1)[0] ?? '')?.[1]
  const envelope = { to: `echo@${domain}`, ...(from !== undefined && { from }) }
  const before = (await house.desk.count()).messages
  const answer = await house.post(octets, envelope)
  if (answer.status !== 200) return { file, fate: 'refused', why: [answer.body.detail ?? ''] }
  const after = (await house.desk.count()).messages
  const [summary] = await house.desk.listMessages({ limit: 1 })
  const record = summary && (await house.desk.findMessage(`#${summary.message}`))
  return { file, fate: after.received > before.received ? 'answered' : 'kept', why: record?.flags ?? [] }
}
