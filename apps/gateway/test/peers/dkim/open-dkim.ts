// Asks OpenDKIM for its verdicts on signed mail.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describePrograms } from '../mail/find-mail-programs.ts'
import { tryCommand } from '../run-command.ts'
import type { CorpusMail } from './differences.ts'

/** The exit code when it accepts a mail without having judged it (EX_SOFTWARE). */
const unjudged = 70

/** Returns the verdict of OpenDKIM's filter, in its test mode, on each signature of a mail. */
export async function judgeByOpenDkim(
  packageRoot: string,
  directory: string,
  mail: CorpusMail,
): Promise<readonly boolean[]> {
  const folder = join(directory, 'opendkim')
  mkdirSync(folder, { recursive: true })
  const [keys, config] = [join(folder, 'keys'), join(folder, 'conf')]
  const records = Object.entries(mail.records).map(([name, record]) => `${name} ${record}\n`)
  writeFileSync(keys, records.join(''))
  writeFileSync(config, `Mode v\nSyslog no\nMinimumKeyBits 1024\nTestPublicKeys ${keys}\n`)
  const library = `LD_LIBRARY_PATH=${describePrograms(packageRoot).libraries}`
  const command = [library, join(packageRoot, 'usr/sbin/opendkim'), '-x', config, '-vv', '-t', mail.file]
  const { status, text } = await tryCommand('env', command)
  if (status !== 0 && status !== unjudged) throw new Error(`${command.join(' ')} ended with ${status}: ${text.trim()}`)
  const passes = Array.from(text.matchAll(/\bdkim=(\w+)/g), ([, result]) => result === 'pass')
  return mail.isGood.map((_, index) => passes[index] ?? false)
}
