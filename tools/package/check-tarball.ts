// Checks a packed package with publint and are-the-types-wrong.
import { readFileSync } from 'node:fs'
import type { Problem } from '@arethetypeswrong/core'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import type { Message } from 'publint'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

/**
 * Returns true for problems that follow from decisions. The package is ESM only, because CommonJS can `require()` it in every Node that
 * runs it. TypeScript's old `node10` resolution does not support `exports`.
 */
function isAccepted(problem: Problem): boolean {
  return problem.kind === 'CJSResolvesToESM' || ('resolutionKind' in problem && problem.resolutionKind === 'node10')
}

/** Returns true for messages about examples, which contain their tests for readers. */
function isOfExamples(message: Message): boolean {
  return message.code === 'USE_FILES' && message.args.internalFilePaths.every(path => path.startsWith('/examples/'))
}

/** Returns publint's findings about a packed package, with a sentence for each. */
export async function lintPackage(tarball: string): Promise<readonly string[]> {
  const bytes = new Uint8Array(readFileSync(tarball))
  const { messages, pkg } = await publint({ pack: { tarball: bytes.buffer }, level: 'suggestion' })
  return messages
    .filter(message => !isOfExamples(message))
    .map(message => `publint: ${formatMessage(message, pkg, { color: false }) ?? message.code}`)
}

/** Returns the findings of are-the-types-wrong about a packed package. */
export async function checkTypes(tarball: string): Promise<readonly string[]> {
  const { types, ...results } = await checkPackage(createPackageFromTarballData(readFileSync(tarball)))
  if (!types || !('problems' in results)) return ['are-the-types-wrong: the package has no types']
  return results.problems
    .filter(problem => !isAccepted(problem))
    .map(problem => `are-the-types-wrong: ${JSON.stringify(problem)}`)
}
