import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describePrograms } from '../mail/find-mail-programs.ts'
import { tryCommand } from '../run-command.ts'
import type { CorpusMail } from './differences.ts'

/** It ends so when it accepts a mail without having judged it (EX_SOFTWARE). */
const unjudged = 70

/** What OpenDKIM's filter says of each signature of a mail, in its test mode. */
export async function judgeByOpenDkim(tree: string, directory: string, mail: CorpusMail): Promise<readonly boolean[]> {
  const place = join(directory, 'opendkim')
  mkdirSync(place, { recursive: true })
  const [keys, config] = [join(place, 'keys'), join(place, 'conf')]
  const records = Object.entries(mail.records).map(([name, record]) => `${name} ${record}\n`)
  writeFileSync(keys, records.join(''))
  writeFileSync(config, `Mode v\nSyslog no\nMinimumKeyBits 1024\nTestPublicKeys ${keys}\n`)
  const library = `LD_LIBRARY_PATH=${describePrograms(tree).libraries}`
  const command = [library, join(tree, 'usr/sbin/opendkim'), '-x', config, '-vv', '-t', mail.file]
  const { status, text } = await tryCommand('env', command)
  if (status !== 0 && status !== unjudged) throw new Error(`${command.join(' ')} ended with ${status}: ${text.trim()}`)
  const found = Array.from(text.matchAll(/\bdkim=(\w+)/g), ([, result]) => result === 'pass')
  return mail.isGood.map((_, at) => found[at] ?? false)
}
