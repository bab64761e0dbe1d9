import { readFileSync } from 'node:fs'
import type { Problem } from '@arethetypeswrong/core'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

/**
 * What follows from a decision: the package is ESM only, since every Node that runs it lets CommonJS `require()` it. TypeScript's old
 * `node10` resolution knows no `exports`.
 */
function isAccepted(problem: Problem): boolean {
  return problem.kind === 'CJSResolvesToESM' || ('resolutionKind' in problem && problem.resolutionKind === 'node10')
}

/** What publint finds in a packed package, a sentence each. */
export async function lintPackage(tarball: string): Promise<readonly string[]> {
  const bytes = new Uint8Array(readFileSync(tarball))
  const { messages, pkg } = await publint({ pack: { tarball: bytes.buffer }, level: 'suggestion' })
  return messages.map(message => `publint: ${formatMessage(message, pkg, { color: false }) ?? message.code}`)
}

/** What are-the-types-wrong finds in it. */
export async function checkTypes(tarball: string): Promise<readonly string[]> {
  const { types, ...rest } = await checkPackage(createPackageFromTarballData(readFileSync(tarball)))
  if (!types || !('problems' in rest)) return ['are-the-types-wrong: the package has no types']
  return rest.problems
    .filter(problem => !isAccepted(problem))
    .map(problem => `are-the-types-wrong: ${JSON.stringify(problem)}`)
}
