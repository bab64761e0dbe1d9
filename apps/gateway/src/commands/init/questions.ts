import { createInterface } from 'node:readline/promises'
import { CommandError } from '../client.ts'
import type { ProjectAnswers } from './project.ts'

/** What the command line said; what is absent is asked for at a terminal, or has its default. */
export type GivenAnswers = { readonly [Key in keyof ProjectAnswers]?: string | undefined }

interface Question {
  readonly words: string
  readonly fallback: string
  /** What is wrong with an answer; undefined if nothing is. */
  findFault(answer: string): string | undefined
}

const questions: Readonly<Record<keyof ProjectAnswers, Question>> = {
  agent: {
    words: 'Name of the first agent',
    fallback: 'desk',
    findFault: answer =>
      /^[a-z0-9_-]{1,64}$/.test(answer)
        ? undefined
        : `"${answer}" is no name of an agent: use 1 to 64 of a-z, 0-9, "_" and "-"`,
  },
  origin: {
    words: 'Where the gateway will be reached',
    fallback: 'https://agents.example',
    findFault: answer =>
      isOrigin(answer) ? undefined : `"${answer}" is no https origin: write it such as https://agents.example`,
  },
}

function isOrigin(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'https:' && url.origin === text && url.hostname.includes('.')
}

interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly output: NodeJS.WritableStream
}

/** Every answer: as given, as typed, or the default where nobody is at the terminal. @throws CommandError for an answer that cannot be */
export async function askForProject(given: GivenAnswers, terminal: Terminal): Promise<ProjectAnswers> {
  const ask = terminal.input.isTTY === true ? openDialogue(terminal) : undefined
  try {
    return {
      agent: await answerQuestion(questions.agent, given.agent, ask?.read),
      origin: await answerQuestion(questions.origin, given.origin, ask?.read),
    }
  } finally {
    ask?.close()
  }
}

type Read = (question: string) => Promise<string>

async function answerQuestion(question: Question, given: string | undefined, read: Read | undefined): Promise<string> {
  const { words, fallback, findFault } = question
  if (given === undefined && read !== undefined) return readAnswer(question, read)
  const answer = given ?? fallback
  const fault = findFault(answer)
  if (fault !== undefined) throw new CommandError(`${words}: ${fault}.`)
  return answer
}

/** Asks until the answer can be. */
async function readAnswer({ words, fallback, findFault }: Question, read: Read): Promise<string> {
  let prompt = `${words} (${fallback}): `
  for (;;) {
    const answer = (await read(prompt)).trim() || fallback
    const fault = findFault(answer)
    if (fault === undefined) return answer
    prompt = `${fault}.\n${words} (${fallback}): `
  }
}

function openDialogue({ input, output }: Terminal): { readonly read: Read; close(): void } {
  const dialogue = createInterface({ input, output })
  const gone = new Promise<never>((_, reject) =>
    dialogue.once('close', () =>
      reject(new CommandError('Nothing was written: the input ended before every question was answered.')),
    ),
  )
  gone.catch(() => undefined)
  return { read: question => Promise.race([dialogue.question(question), gone]), close: () => dialogue.close() }
}
