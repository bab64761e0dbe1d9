// Compares our DKIM verifier with dkimpy and OpenDKIM.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describePrograms } from '../mail/find-mail-programs.ts'
import { readOutput, runCommand } from '../run-command.ts'
import { printLine } from '../run-steps.ts'
import type { CorpusMail, Difference } from './differences.ts'
import { dkimpyDifferences, openDkimDifferences } from './differences.ts'
import { judgeByOpenDkim } from './open-dkim.ts'

// The mails are the vectors of the RFCs, mail that others signed, and random mail with random damage.

const [, , packageRoot = '.', directory = '.'] = process.argv
const writeScript = fileURLToPath(new URL('../../../../../packages/email/test/dkim/write-corpus.ts', import.meta.url))
const judgeScript = fileURLToPath(new URL('./judge-corpus.py', import.meta.url))

async function writeCorpus(): Promise<readonly CorpusMail[]> {
  const folder = join(directory, 'corpus')
  await runCommand(process.execPath, [writeScript, folder])
  return JSON.parse(readFileSync(join(folder, 'corpus.json'), 'utf8')) as readonly CorpusMail[]
}

async function judgeByDkimpy(): Promise<readonly (readonly boolean[])[]> {
  const { libraries, python } = describePrograms(packageRoot)
  const library = [`LD_LIBRARY_PATH=${libraries}`, `PYTHONPATH=${python.path}`]
  const corpus = join(directory, 'corpus/corpus.json')
  return JSON.parse(await readOutput('env', [...library, python.program, '-W', 'ignore', judgeScript, corpus]))
}

/** Compares the verdicts. Returns the number of differences that no rule explains. */
function compare(
  verifier: string,
  corpus: readonly CorpusMail[],
  theirVerdicts: readonly (readonly boolean[])[],
  differences: readonly Difference[],
): number {
  let [agreedCount, explainedCount, unexplainedCount] = [0, 0, 0]
  for (const [index, mail] of corpus.entries()) {
    const text = readFileSync(mail.file, 'latin1')
    for (const [signatureIndex, isGood] of mail.isGood.entries()) {
      const theirVerdict = theirVerdicts[index]?.[signatureIndex] ?? false
      const tags = mail.tags[signatureIndex] ?? {}
      const judgedSignature = { mail, tags, text, record: Object.values(mail.records)[0] ?? '' }
      if (theirVerdict === isGood) agreedCount += 1
      else if (differences.some(difference => difference.says === theirVerdict && difference.isCase(judgedSignature)))
        explainedCount += 1
      else {
        unexplainedCount += 1
        printLine(
          `${verifier} says ${theirVerdict}, ours ${isGood}: ${JSON.stringify(tags)} ${judgedSignature.record}\n${text}`,
        )
      }
    }
  }
  printLine(`${verifier}: ${agreedCount} the same, ${explainedCount} by a known rule, ${unexplainedCount} differ`)
  return unexplainedCount
}

const corpus = await writeCorpus()
const goodSignatures = corpus.flatMap(({ isGood }) => isGood).filter(Boolean)
printLine(`${corpus.length} mails, ${goodSignatures.length} good signatures`)
const byOpenDkim: (readonly boolean[])[] = []
for (const mail of corpus) byOpenDkim.push(await judgeByOpenDkim(packageRoot, directory, mail))
const unexplained =
  compare('dkimpy', corpus, await judgeByDkimpy(), dkimpyDifferences) +
  compare('OpenDKIM', corpus, byOpenDkim, openDkimDifferences)
// A corpus with only bad mail would prove little.
process.exitCode = unexplained === 0 && goodSignatures.length > 50 ? 0 : 1
