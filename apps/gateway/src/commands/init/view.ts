import { relative, resolve } from 'node:path'
import type { Output } from '../context.ts'
import type { GivenAnswers } from './project.ts'
import { askForProject, describeProject, writeProject } from './project.ts'

/** Writes a new project and says what to do next. */
export async function initProject(
  folder: string,
  given: GivenAnswers,
  { print }: Pick<Output, 'print'>,
): Promise<void> {
  const { stdin: input, stdout: output } = process
  const answers = await askForProject(given, { input, output })
  const files = describeProject(answers)
  const place = resolve(folder)
  writeProject(place, files)
  const steps = [
    ...(place === process.cwd() ? [] : [`cd ${relative(process.cwd(), place)}`]),
    'npm install',
    'npm test',
    'npm run dev',
  ]
  print(
    [
      ...[...files.keys()].map(path => `wrote ${path}`),
      '',
      'Next:',
      '',
      ...steps.map(step => `  ${step}`),
      '',
      `Your agent is agents/${answers.agent}.ts.`,
    ].join('\n'),
  )
}
