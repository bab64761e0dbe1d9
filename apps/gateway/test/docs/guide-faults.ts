// Compiles every TypeScript example of the pages for users, as modules of a project in strict mode.
import type { CodeBlock } from './blocks.ts'
import { isCheckedByLanguage, readCodeBlocks } from './blocks.ts'
import { foreignBlocks } from './cases.ts'
import type { TypeFiles } from './type-errors.ts'
import { listTypeErrors } from './type-errors.ts'

/** The code blocks of the guides, except those for other programs. */
export const guideBlocks: readonly CodeBlock[] = readCodeBlocks()
  .filter(isCheckedByLanguage)
  .filter(({ page, code }) => !foreignBlocks.some(([blockPage, mark]) => blockPage === page && code.includes(mark)))

export const locateBlock = ({ page, line }: CodeBlock) => `${page}:${line}`

const invalidExample = "import { defineAgent } from 'postern'\nexport default defineAgent({ handle: () => 3 })\n"

/** The name of the one intended fault, which shows that the compiler has checked the modules. */
export const plantedFault = 'a module that is wrong on purpose'

/** Lists the faults of all examples by their places, and that of a module that is wrong on purpose. `entries` defaults to the source. */
export function findGuideFaults(entries?: TypeFiles): readonly string[] {
  const modules = guideBlocks.filter(({ language }) => language === 'ts')
  const faults = listTypeErrors([...modules.map(({ code }) => `${code}\nexport {}\n`), invalidExample], entries)
  return faults.map(fault => {
    const block = modules[Number(/example-(\d+)\.ts/.exec(fault)?.[1])]
    return block ? `${locateBlock(block)}: ${fault}` : plantedFault
  })
}
