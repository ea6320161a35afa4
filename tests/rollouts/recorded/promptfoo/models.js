// The model, or with `role: judge` a judge that is down.
class Model {
  constructor(options) { this.isJudge = options?.config?.role === 'judge'; }
  id() { return this.isJudge ? 'judge' : 'model'; }
  async callApi(prompt) {
    if (this.isJudge) return { error: 'the judge is down' };
    if (prompt === 'fail') return { error: 'the model is down' };
    return prompt === 'nothing' ? {} : { output: 'yes' };
  }
  async callEmbeddingApi() { return { error: 'the judge is down' }; }
  async callClassificationApi() { return { error: 'the judge is down' }; }
}

module.exports = Model;
