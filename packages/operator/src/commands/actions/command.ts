// Declares the commands that let an agent post, edit and delete.

import { visibilities } from '@postern/message'
import type { PostOptions } from '@postern/pipeline'
import type { Command } from 'commander'
import { Option } from 'commander'
import type { CommandContext, CommonOptions } from '../context.ts'

const loadView = () => import('./view.ts')

export function addActionCommands(program: Command, { output }: CommandContext): void {
  const toParts = (text: string) => [{ kind: 'text', mime: 'text/markdown', content: text } as const]
  program
    .command('post <agent> <text>')
    .description('let an agent post to its followers; prints the id of the post')
    .addOption(new Option('--visibility <who>', 'who may read it').choices(visibilities).default('public'))
    .option('--subject <text>', 'a content warning')
    .option('--mention <address...>', 'recipients, as @name@domain')
    .option('--json', 'print JSON, for programs')
    .action(async (agent: string, text: string, options: CommonOptions & PostOptions & { mention?: string[] }) => {
      const { visibility, subject, mention } = options
      const details = { visibility, subject, mentions: mention }
      await (await loadView()).performAction(output(options), agent, {
        act: 'post',
        parts: toParts(text),
        ...details,
      })
    })
  program
    .command('edit <agent> <id> <text>')
    .description('change the text of a post or an answer of an agent')
    .action(async (agent: string, response: string, text: string) =>
      (await loadView()).performAction(output({}), agent, { act: 'edit', response, parts: toParts(text) }),
    )
  program
    .command('delete-post <agent> <id>')
    .description('delete a post or an answer of an agent')
    .action(async (agent: string, response: string) =>
      (await loadView()).performAction(output({}), agent, { act: 'delete', response }),
    )
}
