// Declares the commands `questions list` and `questions answer`.
import { declareGroup } from '../declare.ts'

export const addQuestionCommands = declareGroup({
  name: 'questions',
  description: 'questions of agents to you: list, answer',
  load: async () => (await import('./view.ts')).questionViews,
  commands: {
    list: { description: 'list the questions, newest first (default)', hasJson: true, isDefault: true },
    answer: { arguments: '<id> <text>', description: 'answer a question' },
  },
})
